"""Attention flow through the layers on one example of each task, answered wrongly and rightly (paper Fig. 3)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posym.figures import style

TABLES = ("flow",)
LEAST = 0.15  # weights below are not drawn
SUMMARY_COLUMNS = ["task", "correct", "step", "layer", "head", "query", "hop", "slot", "slot_hop", "token", "weight"]


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:  # noqa: ARG001 (every figure takes them)
    """A row of panels a task: left the last checkpoint that answers the example wrongly, right the last one of all.

    x is the slot with its token, y the layer, going up. A line from a slot below to one above is attention: the upper
    slot's query reads the lower slot, the broader the more. Lines between slots of the path have the colour of the hop of
    their query; others are grey. Of several seeds the first is shown. Data: every weight, with task, step and correct.
    """
    table = tables["flow"]
    table = table[table["seed"] == table.groupby("task")["seed"].transform("min")]
    data = table[SUMMARY_COLUMNS].sort_values(SUMMARY_COLUMNS[:8], ignore_index=True)
    tasks = style.task_order(table["task"])
    figure = style.new_figure(85 * len(tasks) + 18)
    panels = figure.subplots(len(tasks), 2, squeeze=False)
    for row, task in zip(panels, tasks, strict=True):
        for axes, correct in zip(row, (False, True), strict=True):
            part = table[(table["task"] == task) & (table["correct"] == correct)]
            if part.empty:
                axes.set_axis_off()
                axes.set_title(f"{task} task: no checkpoint answers {'rightly' if correct else 'wrongly'}", loc="left")
                continue
            _flow(axes, part)
            one = part.iloc[0]
            said = f"answers {one['predicted']}" + ("" if correct else f", right is {one['answer']}")
            axes.set_title(f"{task} task, step {one['step']}: {said}", loc="left")
    hops = sorted(set(data["hop"]) - {0})
    handles = [style.handle(style.Look(style.hop_look(hop).colour, "-", ""), f"hop {hop}'s query") for hop in hops]
    handles.append(style.handle(style.Look("#bbbbbb", "-", ""), "other attention"))
    note = f"Weights from {LEAST:g}; framed tokens are the path, the doubly framed one the answer"
    style.finish(figure, "Attention through the layers on one example", handles, note)
    return figure, data


def _flow(axes: Axes, data: pd.DataFrame) -> None:
    shown = data[data["weight"] >= LEAST].sort_values("weight")
    for edge in shown.itertuples():
        on_path = edge.hop > 0 and edge.slot_hop > 0
        axes.plot(
            [edge.slot, edge.query],
            [edge.layer, edge.layer + 1],
            color=style.hop_look(edge.hop).colour if on_path else "#bbbbbb",
            linewidth=(3.0 if on_path else 1.2) * edge.weight,
            alpha=0.9 if on_path else 0.5,
            solid_capstyle="round",
            zorder=3 if on_path else 2,
        )
    tokens = data.drop_duplicates("slot").sort_values("slot")
    layers = int(data["layer"].max()) + 1
    answer = data["slot_hop"].max()
    for token in tokens.itertuples():
        frame = None
        if token.slot_hop:
            frame = {
                "boxstyle": "round,pad=0.15",
                "facecolor": "white",
                "edgecolor": "black",
                "linewidth": 1.6 if token.slot_hop == answer else 0.7,
            }
        axes.text(token.slot, -0.55, token.token, ha="center", va="center", fontsize=6.5, bbox=frame)
    axes.set_ylim(-1.1, layers + 0.2)
    axes.set_xlim(-0.7, tokens["slot"].max() + 0.7)
    axes.set_yticks([layer + 0.5 for layer in range(layers)], [str(layer) for layer in range(layers)])
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    axes.set_ylabel("layer")
    axes.grid(False)
