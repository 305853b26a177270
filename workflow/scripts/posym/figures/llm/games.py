"""Accuracy of language models on the two one-hop games, against window length and place in the window (paper Table 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from posym.contracts.llm import GAMES
from posym.figures import style
from posym.figures.llm import paper

TABLE = GAMES
LEVEL = 0.95
RUNS_FOR_T = 3  # with fewer runs the interval is Wilson's over all items
KEYS = ["model", "method", "task", "length", "slot_band"]
ALL_LENGTHS = 0


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Over runs: `model, method, task, length, slot_band, mean, low, high, runs` and summed counts; length 0 is all lengths.

    The mean is over runs. The 95 % interval is the t-interval of the runs' accuracies with three runs or more, else Wilson's over
    all items; cells without a reply are left out.
    """
    counts = ["correct", "items", "refused", "overlong", "failed", "tokens_in", "tokens_out"]
    everything = table.groupby([*(key for key in KEYS if key != "length"), "run"], as_index=False)[counts].sum()
    rows = pd.concat([table[[*KEYS, "run", *counts]], everything.assign(length=ALL_LENGTHS)], ignore_index=True)
    rows = rows[rows["items"] > 0]
    found = []
    for key, cell in rows.groupby(KEYS):
        shares = (cell["correct"] / cell["items"]).to_numpy()
        total = cell[counts].sum()
        if len(shares) >= RUNS_FOR_T:
            half = stats.t.ppf((1 + LEVEL) / 2, len(shares) - 1) * shares.std(ddof=1) / np.sqrt(len(shares))
            low, high = shares.mean() - half, shares.mean() + half
        else:
            low, high = stats.binomtest(int(total["correct"]), int(total["items"])).proportion_ci(LEVEL, "wilson")
        found.append([*key, shares.mean(), low, high, len(shares), *total])
    return pd.DataFrame(found, columns=[*KEYS, "mean", "low", "high", "runs", *counts])


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """A row a model and method: left, accuracy against window length; right, against the place of the answer, all lengths.

    The paper's three models stand behind every left panel as faint markers in each task's colour. Data: see `summarise`.
    """
    del settings
    data = summarise(tables[GAMES.name])
    looks = style.task_looks(data["task"])
    panels = list(data[["model", "method"]].drop_duplicates().itertuples(index=False))
    figure = style.new_figure(40 + 52 * len(panels))
    grid = figure.subplots(len(panels), 2, squeeze=False, width_ratios=(2, 1))
    for (left, right), panel in zip(grid, panels, strict=True):
        mine = data[(data["model"] == panel.model) & (data["method"] == panel.method)]
        for task, look in looks.items():
            for name, reference in paper.ACCURACY.items():
                marker = style.PAPER_MARKER | {"marker": paper.MARKERS[name], "markersize": 4, "alpha": 0.45}
                left.plot(
                    paper.LENGTHS, reference.get(task, [np.nan] * len(paper.LENGTHS)), color=look.colour, **marker
                )
            line = mine[mine["task"] == task]
            style.plot(left, line[(line["slot_band"] == 0) & (line["length"] != ALL_LENGTHS)], "length", look)
            style.plot(right, line[(line["slot_band"] != 0) & (line["length"] == ALL_LENGTHS)], "slot_band", look)
        _length_axis(left, data)
        left.set_title(f"{panel.model}, {panel.method}", loc="left")
        left.set_ylabel("accuracy (share of replies)" if panel.method == "reply" else "accuracy (share of prompts)")
        right.set_title("by place of the answer", loc="left")
        right.set_xlabel("part of the window, from its start")
        bands = sorted(set(data["slot_band"]) - {0})
        right.set_xticks(bands)
        right.set_xlim(bands[0] - 0.3, bands[-1] + 0.3)
        style.accuracy_axis(right)
    handles = [style.handle(look, f"{task} game") for task, look in looks.items()]
    handles += [
        style.handle(style.PAPER, f"paper, {name}", **style.PAPER_MARKER | {"marker": marker})
        for name, marker in paper.MARKERS.items()
    ]
    runs = int(data["runs"].max())
    interval = "t-interval over runs" if runs >= RUNS_FOR_T else "Wilson interval over prompts"
    note = f"Bands: 95 % {interval}; {runs} run(s). Paper: Table 3, in each game's colour."
    style.finish(figure, "One-hop games on language models", handles, note)
    return figure, data


def _length_axis(axes: Axes, data: pd.DataFrame) -> None:
    lengths = sorted(set(data["length"]) - {ALL_LENGTHS})
    axes.set_xscale("log")
    axes.set_xlim(min(lengths) * 0.9, max(lengths) * 1.1)
    axes.set_xticks(lengths, [str(length) for length in lengths], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("window length (tokens of the game, log scale)")
    style.accuracy_axis(axes)
