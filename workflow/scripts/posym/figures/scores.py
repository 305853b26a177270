"""Positional and symbolic score of every layer over training, with its attention entropy (paper Figs 2B and 6)."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posym import paper
from posym.figures import style
from posym.figures.seeds import band_note, over_seeds
from posym.pure import HEAD, KINDS, scores_at

TABLES = ("scores",)
COLUMNS = 4
ROW_MM = 27.0
ENTROPY = "entropy_scaled"


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """A block of panels a task, a panel a layer; x is the optimizer step, y a score or scaled entropy, all in 0..1.

    Last query, all items, the tau of the settings. Entropy is scaled from its minimum to its maximum over training
    within each layer and seed, as in the paper; one that never changes has no scale and is left out. Hollow
    markers at the last step, where the settings ask for them (`paper_reference`), are the paper's final scores. Data:
    `task, layer, head, quantity, step` and the summary over seeds.
    """
    table = with_scaled_entropy(scores_at(tables["scores"], settings["tau"]))
    keys = ["task", "layer", "head", "quantity", "step"]
    data = pd.concat(
        [
            over_seeds(table.assign(quantity=name), keys, name, limits)
            for name, limits in (*((kind, (f"{kind}_low", f"{kind}_high")) for kind in KINDS), (ENTROPY, None))
        ]
    ).sort_values(keys, ignore_index=True)

    tasks = style.task_order(data["task"])
    heads = {task: list(data[data["task"] == task].groupby(["layer", "head"])) for task in tasks}
    several = data["head"].nunique() > 1
    rows = {task: ceil(len(found) / COLUMNS) for task, found in heads.items()}
    figure = style.new_figure(sum(rows.values()) * ROW_MM + 24)
    panels = figure.subplots(sum(rows.values()), COLUMNS, sharex="col", sharey=True, squeeze=False)
    for task, block in zip(tasks, np.split(panels, np.cumsum(list(rows.values()))[:-1]), strict=True):
        for axes in block.flat[len(heads[task]) :]:
            axes.set_axis_off()
        for axes, ((layer, head), part) in zip(block.flat, heads[task], strict=False):
            _draw_head(axes, task, layer, part, settings["paper_reference"])
            name = f"{task} task, layer {layer}" + (f", head {head}" if several else "")
            axes.set_title(name, loc="left", fontsize=7, pad=3)
    for axes in block.flat[max(0, len(heads[task]) - COLUMNS) : len(heads[task])]:  # the last panel of each column
        axes.set_xlabel("optimizer step")
    figure.supylabel("score, or entropy scaled to 0..1 over training", fontsize=8)
    handles = [style.handle(look, f"{kind} score", marker="") for kind, look in style.KINDS.items()]
    handles.append(style.handle(style.ENTROPY, "attention entropy, scaled by layer"))
    if settings["paper_reference"]:
        handles.append(style.handle(style.PAPER, "paper, final scores", **style.PAPER_MARKER))
    note = band_note(data[data["quantity"] != ENTROPY], "95 % bootstrap interval over items")
    style.finish(figure, f"Head scores over training (last query, tau {settings['tau']:g})", handles, note)
    return figure, data


def with_scaled_entropy(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores with the column `entropy_scaled`: 0 at the head's least entropy over training, 1 at its largest."""
    entropy = scores.groupby(HEAD)["entropy"]
    least, most = entropy.transform("min"), entropy.transform("max")
    return scores.assign(**{ENTROPY: (scores["entropy"] - least) / (most - least).where(most > least)})


def _draw_head(axes: Axes, task: str, layer: int, data: pd.DataFrame, paper_reference: bool) -> None:
    for name, look in ((ENTROPY, style.ENTROPY), *style.KINDS.items()):
        style.plot(axes, data[data["quantity"] == name], "step", style.Look(look.colour, look.line, ""))
    if paper_reference and layer < len(paper.FINAL_SCORES.get(task, ())):
        for look, score in zip(style.KINDS.values(), paper.FINAL_SCORES[task][layer], strict=True):
            style.mark_paper(axes, [paper.LAST_STEP], [score], look)
    style.accuracy_axis(axes)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.tick_params(labelbottom=True)
