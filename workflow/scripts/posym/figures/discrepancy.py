"""Discrepancy of the trained heads against input length, and how fast it falls (paper section 4, on trained models)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from posym.errors import InputError
from posym.figures import style
from posym.figures.seeds import band_note, over_seeds

TABLES = ("discrepancy",)
HOP = 1  # the query that every input has
INDEX_SLOPE = -2.0  # of the construction T_Index: its discrepancy falls like 1 / n^2


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:  # noqa: ARG001 (every figure takes them)
    """Left, a panel a task: median discrepancy at the last query against length, a line a layer, both axes logarithmic.

    Right: each layer's slope of log median against log length with its interval, beside the construction's -2. Data:
    `task, part, layer, length` and the summary over seeds; `part` is `median` or `slope` (length 0).
    """
    table = tables["discrepancy"]
    table = table[table["hop"] == HOP]
    if table.empty:
        raise InputError(f"the discrepancy tables have no hop {HOP}: run the stage that makes them again")
    keys = ["task", "part", "layer", "length"]
    slopes = table.drop_duplicates(["task", "seed", "layer"]).assign(part="slope", length=0)
    data = pd.concat(
        [
            over_seeds(table.assign(part="median"), keys, "median", ("low", "high")),
            over_seeds(slopes, keys, "slope", ("slope_low", "slope_high")),
        ]
    ).sort_values(keys, ignore_index=True)

    tasks = style.task_order(data["task"])
    layers = sorted(set(data["layer"]))
    colours = ScalarMappable(Normalize(min(layers), max(layers) + 0.5), "viridis")
    figure = style.new_figure(75)
    panels = figure.subplots(1, len(tasks) + 1)
    medians = data[data["part"] == "median"]
    bounds = (medians["mean"].clip(lower=1e-6).min() / 1.5, medians["mean"].max() * 1.5)
    for axes, task in zip(panels, tasks, strict=False):
        for layer in layers:
            rows = medians[(medians["task"] == task) & (medians["layer"] == layer)]
            axes.plot(rows["length"], rows["mean"], color=colours.to_rgba(layer), marker="o", markersize=2)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(*bounds)
        axes.set_title(f"{task} task, a line a layer", loc="left")
        axes.set_xlabel("length (tokens)")
    panels[0].set_ylabel("top minus next logit, median")
    figure.colorbar(
        colours, ax=panels[len(tasks) - 1], use_gridspec=False, label="layer", ticks=layers[:: max(1, len(layers) // 6)]
    )
    axes = panels[-1]
    looks = style.task_looks(tasks)
    for shift, task in enumerate(tasks):
        rows = data[(data["task"] == task) & (data["part"] == "slope")]
        look = looks[task]
        places = rows["layer"] + 0.25 * (shift - (len(tasks) - 1) / 2)
        axes.vlines(places, rows["low"], rows["high"], color=look.colour)
        axes.plot(places, rows["mean"], color=look.colour, linestyle="", marker=look.marker)
    axes.axhline(0, color=style.GREY, linewidth=0.7)
    axes.axhline(INDEX_SLOPE, color=style.GREY, linewidth=0.7, linestyle="--")
    axes.set_xticks(layers[:: max(1, len(layers) // 6)])
    axes.set_title("slope by layer", loc="left")
    axes.set_xlabel("layer")
    axes.set_ylabel("slope of log against log length")
    handles = [style.handle(looks[task], f"{task} task", linestyle="") for task in tasks]
    handles.append(style.handle(style.Look(style.GREY, "--", ""), "T_Index: -2"))
    note = "Bars: " + band_note(
        data[data["part"] == "slope"], "bootstrap interval over items, clustered by prefix"
    ).removeprefix("Band: ")
    style.finish(figure, "Discrepancy of trained heads against length, last query", handles, note)
    return figure, data
