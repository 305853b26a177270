"""What a length costs, and what gives it back: attention frozen to that on the short input, planes taken away."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from posym.errors import InputError
from posym.figures import style
from posym.figures.seeds import band_note, over_seeds

TABLES = ("restriction",)
SINGLE = "oracle-layer-"
NOTE = "Frozen: attention as in the same core without extra tokens.\n"
WHOLE = {
    "none": "untouched",
    "planes-high": "high planes only",
    "planes-low": "low planes only",
    "oracle-all": "frozen everywhere",
}


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:  # noqa: ARG001 (every figure takes them)
    """A column of panels a task, all items. Above: accuracy at each number of extra tokens, whole-model interventions.

    Below, at the longest inputs: accuracy with one layer's attention frozen to what it is on the same core without extra
    tokens, beside the untouched model's. Frozen in all layers the short input's computation returns, by construction.
    Data: `task, intervention, extra` and the summary over seeds.
    """
    table = tables["restriction"]
    table = table[table["hops"] == 0]
    shown = table["intervention"].isin(WHOLE) | table["intervention"].str.startswith(SINGLE)
    if not shown.any():
        raise InputError("the restriction tables hold no intervention that this figure shows: run their stage again")
    keys = ["task", "intervention", "extra"]
    data = over_seeds(table[shown], keys, "accuracy", ("low", "high")).sort_values(keys, ignore_index=True)

    tasks = style.task_order(data["task"])
    figure = style.new_figure(120)
    panels = figure.subplots(2, len(tasks), squeeze=False)
    looks = dict(zip(WHOLE, (*style.HOPS.values(),), strict=False))
    for column, task in enumerate(tasks):
        part = data[data["task"] == task]
        axes = panels[0, column]
        for name, look in looks.items():
            rows = part[part["intervention"] == name]
            if not rows.empty:
                style.plot(axes, rows, "extra", look)
        style.accuracy_axis(axes)
        axes.set_title(f"{task} task", loc="left")
        axes.set_xlabel("extra tokens")
        last = part[part["extra"] == part["extra"].max()]
        alone = last[last["intervention"].str.startswith(SINGLE)]
        layers = alone["intervention"].str.removeprefix(SINGLE).astype(int)
        axes = panels[1, column]
        axes.vlines(layers, alone["low"], alone["high"], color=style.task_looks(tasks)[task].colour)
        look = style.task_looks(tasks)[task]
        axes.plot(layers, alone["mean"], color=look.colour, marker=look.marker, linestyle="")
        untouched = last.loc[last["intervention"] == "none", "mean"]
        if not untouched.empty:
            axes.axhline(untouched.iloc[0], color=style.GREY, linewidth=0.8, linestyle="--")
        style.accuracy_axis(axes)
        axes.set_title(f"one layer frozen, {last['extra'].iloc[0]} extra tokens", loc="left")
        axes.set_xlabel("layer")
    for row in (0, 1):
        panels[row, 0].set_ylabel("accuracy (share of items)")
    handles = [style.handle(look, WHOLE[name]) for name, look in looks.items()]
    handles.append(style.handle(style.Look(style.GREY, "--", ""), "below: untouched"))
    style.finish(
        figure,
        "Which attention fails on long inputs",
        handles,
        NOTE + band_note(data, "bootstrap interval over items, clustered by prefix"),
    )
    return figure, data
