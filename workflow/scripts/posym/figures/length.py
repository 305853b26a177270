"""Accuracy on inputs longer than those of training (paper Fig. 5B)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posym import paper
from posym.errors import InputError
from posym.figures import style
from posym.figures.seeds import band_note, over_seeds

TABLES = ("extrapolation",)
LINEAR_UP_TO = 10  # extra tokens: below it the axis is linear, so that 0 has a place
EXTRA_TICKS = (0, 10, 30, 100, 300, 1000, 3000)
TOTAL_TICKS = (17, 50, 100, 200, 400, paper.LENGTH_QUOTED, 2000, 5000)


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:  # noqa: ARG001 (every figure takes them)
    """Above, all items, a line a task, with the paper's curves; below, a panel a task with a line a hop class.

    x is the number of extra tokens before the core (total tokens on top), y the share of right answers of the last
    checkpoint in the tables. The paper's curves are always drawn, because their axis is extra tokens too. Data: `task,
    hops, extra, length` and the summary over seeds; hops 0 means all items.
    """
    table = tables["extrapolation"]
    table = table[table["step"] == table.groupby(["task", "seed"])["step"].transform("max")]
    if not set(table["task"]) <= set(table.loc[table["hops"] == 0, "task"]):
        raise InputError("the extrapolation tables lack the rows of all items (hops 0): make them again")
    data = over_seeds(table, ["task", "hops", "extra", "length"], "accuracy", ("low", "high"))

    looks = style.task_looks(data["task"])
    figure = style.new_figure(145)
    grid = figure.add_gridspec(2, len(looks), height_ratios=(1.15, 1))
    top = figure.add_subplot(grid[0, :])
    for task, look in looks.items():
        curve = paper.LENGTH_CURVES.get(task, {})
        style.plot_paper(top, list(curve), list(curve.values()), look)
        style.plot(top, data[(data["task"] == task) & (data["hops"] == 0)], "extra", look)
    _axes(top, data)
    _total_axis(top, data)
    top.set_title("all items", loc="left")
    top.set_ylabel("accuracy (share of items)")
    hops = sorted(set(data["hops"]) - {0})
    for column, task in enumerate(looks):
        axes = figure.add_subplot(grid[1, column])
        for hop in hops:
            style.plot(axes, data[(data["task"] == task) & (data["hops"] == hop)], "extra", style.hop_look(hop))
        _axes(axes, data)
        axes.set_title(f"{task} task by hop", loc="left")
        if column == 0:
            axes.set_ylabel("accuracy (share of items)")

    handles = [style.handle(look, f"{task}, all items") for task, look in looks.items()]
    handles += [style.handle(style.PAPER, "paper, each task's line", **style.PAPER_LINE)]
    handles += style.hop_handles(hops)
    handles.append(style.guess_handle())
    if quoted_extra(data) <= data["extra"].max():
        handles.append(style.handle(style.PAPER, f"{paper.LENGTH_QUOTED} tokens in all", linewidth=0.7))
    note = band_note(data, "95 % bootstrap interval over items, clustered by prefix")
    style.finish(figure, "Accuracy against input length, final checkpoint", handles, note, 4)
    return figure, data


def _axes(axes: Axes, data: pd.DataFrame) -> None:
    longest = data["extra"].max()
    axes.set_xscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.5)
    axes.set_xlim(-1, max(LINEAR_UP_TO, longest) * 1.15)  # the paper's curves may go on where the tables end
    axes.set_xticks([tick for tick in EXTRA_TICKS if tick <= longest], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_xlabel("extra tokens (log scale above 10)")
    style.accuracy_axis(axes)
    style.guess_level(axes, paper.GUESS_LEVEL)
    if quoted_extra(data) <= longest:
        axes.axvline(quoted_extra(data), color=style.GREY, linewidth=0.7, zorder=1)


def _total_axis(axes: Axes, data: pd.DataFrame) -> None:
    core = core_length(data)
    above = axes.twiny()
    above.set_xscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.5)
    above.set_xlim(axes.get_xlim())
    ticks = [total for total in TOTAL_TICKS if core <= total <= data["length"].max()]
    above.set_xticks([total - core for total in ticks], [str(total) for total in ticks])
    above.set_xticks([], minor=True)
    above.spines["top"].set_visible(True)
    above.set_xlabel("total tokens")


def quoted_extra(data: pd.DataFrame) -> int:
    """The extra tokens that make the length which the paper quotes."""
    return paper.LENGTH_QUOTED - core_length(data)


def core_length(data: pd.DataFrame) -> int:
    """Tokens of an input without extra ones; tasks that differ in it have no common axis and raise `InputError`."""
    core = set(data["length"].astype(int) - data["extra"].astype(int))
    if len(core) != 1:
        raise InputError(f"the extrapolation tables have cores of {sorted(core)} tokens: draw such tasks apart")
    return int(core.pop())
