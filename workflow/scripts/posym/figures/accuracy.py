"""Accuracy by hop over training (paper Fig. 2A)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from posym import paper
from posym.errors import InputError
from posym.figures import style
from posym.figures.seeds import band_note, over_seeds, wilson

TABLES = ("accuracy",)


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """One panel a task, a line a hop class; x is the optimizer step, y the share of right answers.

    Hollow markers, where the settings ask for them (`paper_reference`), are the paper's steps of passing .5, .9 and
    .99. Data: `task, hops, step` and the summary over seeds.
    """
    table = tables["accuracy"]
    table = table[table["hops"] > 0]
    if table.empty:
        raise InputError("the accuracy tables hold no hop classes: run the stage that makes them again")
    low, high = wilson(table["correct"], table["items"])
    table = table.assign(low=low, high=high)
    data = over_seeds(table, ["task", "hops", "step"], "accuracy", ("low", "high"))

    tasks = style.task_order(data["task"])
    hops = sorted(data["hops"].unique())
    figure = style.new_figure(75)
    for axes, task in zip(figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0], tasks, strict=True):
        for hop in hops:
            look = style.hop_look(hop)
            style.plot(axes, data[(data["task"] == task) & (data["hops"] == hop)], "step", look)
            if settings["paper_reference"] and hop in paper.STEPS_PASSING.get(task, {}):
                passing = paper.STEPS_PASSING[task][hop]
                style.mark_paper(axes, passing, paper.THRESHOLDS, look)
        style.guess_level(axes, paper.GUESS_LEVEL)
        style.accuracy_axis(axes)
        axes.set_title(f"{task} task", loc="left")
        axes.set_xlabel("optimizer step")
    figure.axes[0].set_ylabel("accuracy (share of items)")

    handles = [*style.hop_handles(hops), style.guess_handle()]
    if settings["paper_reference"]:
        handles.append(style.handle(style.PAPER, "paper at .5, .9, .99", **style.PAPER_MARKER))
    note = band_note(data, "95 % Wilson interval over items")
    style.finish(figure, "Accuracy by hop over training", handles, note)
    return figure, data
