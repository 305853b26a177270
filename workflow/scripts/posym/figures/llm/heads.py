"""Heads of a pretrained model in the positional-symbolic plane, and the scores of its RoPE planes (arXiv 2511.11579)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from posym.contracts.llm import HEADS
from posym.figures import style

TABLE = HEADS
SAMPLES = 2000
WHOLE_HEAD = 0
COLOURS = "viridis"
Values = NDArray[np.float64]


def statistics(table: pd.DataFrame) -> pd.DataFrame:
    """Of each task: `task, statistic, value, low, high, heads`, limits of a 95 % bootstrap that resamples whole layers.

    `scores`: Pearson correlation of positional and symbolic score over heads. `frequency`: within each head, the rank correlation
    over RoPE planes between a plane's angle and positional minus symbolic score, averaged over heads; above 0, high
    frequencies are positional and low ones symbolic.
    """
    found = []
    for task, mine in table.groupby("task"):
        heads = mine[mine["plane"] == WHOLE_HEAD]
        planes = mine[mine["plane"] != WHOLE_HEAD].assign(lean=lambda rows: rows["positional"] - rows["symbolic"])
        ranks = planes.groupby(["layer", "head"])[["angle", "lean"]].rank()
        per_head = ranks.groupby([planes["layer"], planes["head"]]).corr().xs("angle", level=2)["lean"].fillna(0.0)
        layers = heads["layer"].unique()
        groups = [np.flatnonzero(heads["layer"] == layer) for layer in layers]
        tau_groups = [np.flatnonzero(per_head.index.get_level_values(0) == layer) for layer in layers]
        pairs, rhos = heads[["positional", "symbolic"]].to_numpy(), per_head.to_numpy()
        random = np.random.default_rng(0)
        drawn = random.integers(0, len(layers), (SAMPLES, len(layers)))
        scores = [_correlation(pairs[np.concatenate([groups[layer] for layer in row])]) for row in drawn]
        means = [rhos[np.concatenate([tau_groups[layer] for layer in row])].mean() for row in drawn]
        for name, value, samples in (("scores", _correlation(pairs), scores), ("frequency", rhos.mean(), means)):
            low, high = np.nanquantile(samples, [0.025, 0.975])
            found.append([task, name, value, low, high, len(heads)])
    return pd.DataFrame(found, columns=["task", "statistic", "value", "low", "high", "heads"])


def _correlation(pairs: Values) -> float:
    with np.errstate(invalid="ignore"):
        return (
            float(stats.pearsonr(pairs[:, 0], pairs[:, 1]).statistic) if np.ptp(pairs, axis=0).all() else float("nan")
        )


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """A column a task: above, one dot a head, coloured by depth; below, the planes' scores against their angle.

    Lines below are means over all heads, bands the middle half of the heads. Data: the table's rows for heads and planes (`kind` `head`,
    `plane`) and the statistics (`kind` `statistic`, see `statistics`) with their limits.
    """
    del settings
    table = tables[HEADS.name]
    found = statistics(table)
    tasks = style.task_order(table["task"])
    (model,) = table["model"].unique()
    figure = style.new_figure(150)
    grid = figure.subplots(2, len(tasks), squeeze=False, height_ratios=(1.25, 1))
    by_plane = table[table["plane"] != WHOLE_HEAD].groupby(["task", "plane"])[list(style.KINDS)]
    lowest = float(by_plane.quantile(0.25).to_numpy().min())  # planes alone are near 1: a full axis would hide them
    for column, task in enumerate(tasks):
        mine = table[table["task"] == task]
        heads, planes = mine[mine["plane"] == WHOLE_HEAD], mine[mine["plane"] != WHOLE_HEAD]
        top, bottom = grid[:, column]
        dots = top.scatter(
            heads["positional"], heads["symbolic"], c=heads["layer"], cmap=COLOURS, s=9, linewidth=0, clip_on=False
        )
        top.set_title(f"{task} game: {_said(found, task, 'scores', 'correlation')}", loc="left")
        top.set_xlabel("positional score")
        top.set_ylabel("symbolic score")
        top.set_xlim(-0.04, 1.04)
        style.accuracy_axis(top)
        for kind, look in style.KINDS.items():
            by_angle = planes.groupby("angle")[kind]
            line = pd.DataFrame(
                {"mean": by_angle.mean(), "low": by_angle.quantile(0.25), "high": by_angle.quantile(0.75)}
            )
            style.plot(bottom, line.reset_index(), "angle", look)
        bottom.set_xscale("log")
        bottom.invert_xaxis()
        bottom.set_title(f"planes: {_said(found, task, 'frequency', 'rank correlation')}", loc="left")
        bottom.set_xlabel("RoPE angle (radians a token), high to low")
        bottom.set_ylabel("mean score of planes")
        bottom.set_ylim(lowest - 0.02, 1.01)
        if column == len(tasks) - 1:
            figure.colorbar(dots, ax=grid[0, :], label="layer", shrink=0.8)
    handles = [style.handle(look, f"{kind} score") for kind, look in style.KINDS.items()]
    note = "Brackets: 95 % bootstrap interval, whole layers resampled. Bands: middle half of the heads."
    style.finish(figure, f"Block swaps on {model}", handles, note)
    kinds = table.assign(kind=np.where(table["plane"] == WHOLE_HEAD, "head", "plane"))
    data = pd.concat([found.assign(kind="statistic", model=model), kinds], ignore_index=True)
    return figure, data


def _said(found: pd.DataFrame, task: str, statistic: str, words: str) -> str:
    (row,) = found[(found["task"] == task) & (found["statistic"] == statistic)].itertuples()
    return f"{words} {row.value:.2f} [{row.low:.2f}, {row.high:.2f}]"
