"""Number of pure positional and pure symbolic heads over training, at several tolerances (paper Figs 2C and 7)."""

from __future__ import annotations

from math import isclose
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from posym import paper
from posym.errors import InputError
from posym.figures import style
from posym.figures.seeds import band_note, over_seeds
from posym.pure import HEAD, pure_head_counts, scores_at

TABLES = ("scores",)


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """A row of panels a task, a column a gamma; x is the optimizer step, y the number of heads pure from there on.

    A head is pure at gamma when one score is at least 1 - gamma and the other at most gamma, at this checkpoint and all
    later ones. Last query, all items, the tau of the settings. A broad faint line, where the settings ask for it
    (`paper_reference`), is the paper's count at its gamma. Data: `task, gamma, kind, step` and the summary over seeds.
    """
    gammas = sorted(set(settings["gammas"]), reverse=True)
    if not gammas:
        raise InputError("figures.gammas is empty: write at least one tolerance, for example [0.2]")
    scores = scores_at(tables["scores"], settings["tau"])
    counts = pure_head_counts(scores, gammas)
    items = scores.groupby(["task", "seed", "step"], as_index=False)["items"].min()
    data = over_seeds(counts.merge(items), ["task", "gamma", "kind", "step"], "heads")

    tasks = style.task_order(data["task"])
    heads = int(scores.groupby(HEAD[:2])[HEAD[2:]].apply(lambda part: len(part.drop_duplicates())).max())
    figure = style.new_figure(50 * len(tasks) + 20)
    panels = figure.subplots(len(tasks), len(gammas), sharex="row", sharey=True, squeeze=False)
    for row, task in zip(panels, tasks, strict=True):
        for axes, gamma in zip(row, gammas, strict=True):
            part = data[(data["task"] == task) & (data["gamma"] == gamma)]
            for kind, look in style.KINDS.items():
                style.plot(axes, part[part["kind"] == kind], "step", look, limits=(0, heads), steps=True)
            if settings["paper_reference"] and isclose(gamma, paper.PURE_GAMMA):
                _draw_paper(axes, task)
            axes.set_title(f"{task} task, gamma {gamma:g}", loc="left")
            axes.set_ylim(-0.04 * heads, 1.04 * heads)
            axes.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 3, 4, 5, 10]))
        row[0].set_ylabel("number of pure heads")
    for axes in panels[-1]:
        axes.set_xlabel("optimizer step")
    handles = [style.handle(look, f"pure {kind}") for kind, look in style.KINDS.items()]
    if settings["paper_reference"] and any(isclose(gamma, paper.PURE_GAMMA) for gamma in gammas):
        handles.append(style.handle(style.PAPER, f"paper, gamma {paper.PURE_GAMMA:g}", **style.PAPER_LINE))
    note = band_note(data)
    style.finish(figure, f"Pure heads over training (last query, tau {settings['tau']:g})", handles, note)
    return figure, data


def _draw_paper(axes: Axes, task: str) -> None:
    for kind, first_steps in paper.FIRST_PURE_STEPS.get(task, {}).items():
        steps = [0, *sorted(first_steps.values()), paper.LAST_STEP]
        counts = [*range(len(first_steps) + 1), len(first_steps)]
        style.plot_paper(axes, steps, counts, style.KINDS[kind], drawstyle="steps-post")
