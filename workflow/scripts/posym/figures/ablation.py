"""What taking heads out costs: one layer at a time by hop, and two layers at once (not in the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posym.errors import InputError
from posym.figures import style
from posym.figures.seeds import band_note, over_seeds

TABLES = ("ablation",)
SINGLE = ("mean", "resample")
PAIRS = "mean"
SPREAD = 0.6  # of the distance between two layers, shared by the hop classes


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:  # noqa: ARG001 (every figure takes them)
    """Above, a panel a task and intervention: x is the layer taken out, y the accuracy lost, a colour a hop class.

    Below, a panel a task: two layers taken out at once, colour the accuracy lost over all items beyond the costlier of the
    two alone. Data: `task, intervention, first, second, hops` (`second` is -1 for one layer) and the summary of the cost
    over seeds; hops 0 means all items.
    """
    table = tables["ablation"]
    count = table["layers"].map(len)
    table = table[count <= 2].assign(
        first=table["layers"].map(lambda layers: int(layers[0])),
        second=table["layers"].map(lambda layers: int(layers[1]) if len(layers) > 1 else -1),
    )
    if not set(SINGLE) & set(table["intervention"]):
        raise InputError(
            f"the ablation tables have none of the interventions {', '.join(SINGLE)}: add one to the settings"
        )
    keys = ["task", "intervention", "first", "second", "hops"]
    data = over_seeds(table, keys, "cost", ("cost_low", "cost_high"))

    tasks = style.task_order(data["task"])
    kinds = [kind for kind in SINGLE if kind in set(data["intervention"])]
    pairs = bool((data["second"] >= 0).any())
    figure = style.new_figure(48 * len(kinds) + 75 * pairs + 20)
    grid = figure.add_gridspec(len(kinds) + pairs, len(tasks), height_ratios=[1.0] * len(kinds) + [1.5] * pairs)
    hops = sorted(set(data["hops"]) - {0})
    for column, task in enumerate(tasks):
        for row, kind in enumerate(kinds):
            axes = figure.add_subplot(grid[row, column])
            chosen = data[(data["task"] == task) & (data["intervention"] == kind) & (data["second"] < 0)]
            _singles(axes, chosen, hops)
            axes.set_title(f"{task} task, head's output replaced by {_words(kind)}", loc="left")
            if column == 0:
                axes.set_ylabel("accuracy lost")
        if pairs:
            axes = figure.add_subplot(grid[len(kinds), column])
            _pairs(axes, data[(data["task"] == task) & (data["intervention"] == PAIRS) & (data["hops"] == 0)])
            axes.set_title(f"{task} task, two layers at once ({PAIRS})", loc="left")
    note = band_note(data, "95 % bootstrap interval over items").replace("Band", "Bar")
    style.finish(figure, "Accuracy lost without a layer's head, final checkpoint", style.hop_handles(hops), note)
    return figure, data


def _words(kind: str) -> str:
    return {"mean": "its mean", "resample": "another input's"}[kind]


def _singles(axes: Axes, data: pd.DataFrame, hops: list[int]) -> None:
    for number, hop in enumerate(hops):
        rows, look = data[data["hops"] == hop].sort_values("first"), style.hop_look(hop)
        x = rows["first"].astype(float) + SPREAD * ((number + 0.5) / len(hops) - 0.5)
        low, high = rows["low"].fillna(rows["mean"]), rows["high"].fillna(rows["mean"])
        axes.vlines(x, low, high, color=look.colour, linewidth=0.9)
        axes.plot(x, rows["mean"], color=look.colour, marker=look.marker, linestyle="")
    axes.axhline(0, color=style.GREY, linewidth=0.6, zorder=1)
    axes.set_ylim(-0.08, 1.08)
    axes.set_xticks(sorted(data["first"].unique()))
    axes.set_xlabel("layer taken out")


def _pairs(axes: Axes, data: pd.DataFrame) -> None:
    single = data[data["second"] < 0].set_index("first")["mean"]
    both = data[data["second"] >= 0]
    layers = int(data["first"].max()) + 1
    beyond = np.full((layers, layers), np.nan)
    for row in both.itertuples():
        beyond[row.second, row.first] = row.mean - max(single[row.first], single[row.second])
    shown = axes.imshow(beyond, cmap="viridis", vmin=0, vmax=1, origin="upper")
    axes.set_xticks(range(layers))
    axes.set_yticks(range(layers))
    axes.set_xlabel("first layer")
    axes.set_ylabel("second layer")
    axes.figure.colorbar(shown, ax=axes, use_gridspec=False, label="lost beyond the costlier alone", shrink=0.8)
