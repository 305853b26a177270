"""Claims 1 to 3: that both tasks are learned, in which order, and together with what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from posym import paper
from posym.claims.base import TASKS, Choice, Options, Tables, last_step, of_task, vary
from posym.claims.heads import pure_counts
from posym.claims.verdicts import LEVEL, Estimate, Part, above, at_least, at_most, judge

Values = NDArray[np.float64]
LATE = LEVEL + (1 - LEVEL) / 2


def learned(tables: Tables, _choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 1: accuracy of the worst hop class at the last checkpoint, with its 95 % Wilson interval over items."""
    parts = []
    for task in TASKS:
        estimates = {}
        for seed, rows in of_task(tables, "accuracy", task).items():
            last = last_step(rows[rows["hops"] > 0])
            worst = last.loc[last["accuracy"].idxmin()]
            interval = stats.binomtest(int(worst["correct"]), int(worst["items"])).proportion_ci(LEVEL, "wilson")
            estimates[seed] = Estimate(worst["accuracy"], interval.low, interval.high)
        parts.append(
            judge(f"{task}: accuracy of the worst hop class at the last checkpoint", estimates, at_least(0.99), "1.00")
        )
    return parts, "Accuracy on held-out 17-token sequences, hop class by hop class."


def order(tables: Tables, choice: Choice, options: Options) -> tuple[list[Part], str]:
    """Claim 2: number is learned hop after hop, letter all hops at once.

    From the first checkpoint from which each hop class stays at `choice.accuracy` or above. Intervals over items are from
    resampled counts of right answers, checkpoint by checkpoint.
    """
    level = choice.accuracy
    passing = {
        task: {seed: _passing(rows, level, options) for seed, rows in of_task(tables, "accuracy", task).items()}
        for task in TASKS
    }
    number, letter = ({seed: (at,) for seed, at in passing[task].items()} for task in ("number", "letter"))
    both = {seed: letter[seed] + number[seed] for seed in letter if seed in number}
    # the paper's own values at its three thresholds, in steps
    column = paper.THRESHOLDS.index(level)
    steps = {task: [by[column] for by in paper.STEPS_PASSING[task].values()] for task in TASKS}
    spread = {task: max(values) - min(values) for task, values in steps.items()}
    parts = [
        judge(
            f"number: smallest delay from one hop to the next, hops 1 to 3 (steps to stay at {level:g})",
            _over(number, lambda at: np.diff(at[:, :3]).min(axis=1, initial=inf)),
            above(0),
            f"{np.diff(steps['number'][:3]).min()}",
        ),
        judge(
            "number: delay of the last hop behind the first, relative to the first",
            _over(number, lambda at: (at[:, -1] - at[:, 0]) / at[:, 0]),
            at_least(0.3),
            f"{(steps['number'][-1] - steps['number'][0]) / steps['number'][0]:.2f}",
        ),
        judge(
            "letter: spread of the hops, relative to the first of them",
            _over(letter, lambda at: np.ptp(at, axis=1) / at.min(axis=1)),
            at_most(0.1),
            f"{spread['letter'] / min(steps['letter']):.3f}",
        ),
        judge(
            "letter's spread of the hops over number's of the same seed",
            _over(both, lambda a, b: np.ptp(a, axis=1) / np.ptp(b, axis=1)),
            at_most(0.25),
            f"{spread['letter'] / spread['number']:.3f}",
        ),
    ]
    return parts, _passing_text(passing, level)


def emergence(tables: Tables, choice: Choice, options: Options) -> tuple[list[Part], str]:
    """Claim 3: Spearman's rank correlation over checkpoints between accuracy (all items) and the number of pure heads.

    Its interval over items resamples the accuracies and keeps the heads.
    """
    parts = []
    for task in TASKS:
        counts = pure_counts(tables, task, choice)
        estimates = {}
        for seed, rows in of_task(tables, "accuracy", task).items():
            if seed not in counts:
                continue
            every = rows[rows["hops"] == 0].sort_values("step")
            heads = counts[seed].reindex(every["step"]).to_numpy()
            accuracy = _resampled(every["correct"].to_numpy(), every["items"].to_numpy(), options)
            if np.ptp(heads) == 0 or np.isnan(heads).any():
                estimates[seed] = Estimate(nan)
                continue
            ranks = stats.rankdata(accuracy, axis=1)
            theirs = stats.rankdata(heads)
            ranks -= ranks.mean(axis=1, keepdims=True)
            theirs -= theirs.mean()
            size = np.sqrt((ranks**2).sum(axis=1) * (theirs @ theirs))
            with np.errstate(invalid="ignore"):  # constant accuracy has no rank
                estimates[seed] = _estimate(ranks @ theirs / size)
        parts.append(
            judge(
                f"{task}: rank correlation of accuracy and number of pure heads over checkpoints",
                estimates,
                at_least(0.8),
                "drawn side by side, no number",
            )
        )
    return (
        parts,
        "A head counts from the checkpoint from which it stays pure, so this compares timing, not only the end.",
    )


def order_choices(_tables: Tables) -> list[Choice]:
    """The two other levels that the paper's steps are known for."""
    return vary(accuracy=[level for level in paper.THRESHOLDS if level != Choice.accuracy])


def _resampled(correct: NDArray[np.int64], items: NDArray[np.int64], options: Options) -> Values:
    """Shares of right answers [1 + sample, ...]: first as measured, then from resampled items."""
    random = np.random.default_rng(options.seed)
    drawn = random.binomial(items, correct / items, size=(options.samples, *correct.shape))
    return np.concatenate([correct[None], drawn]) / items


def _passing(rows: pd.DataFrame, level: float, options: Options) -> Values:
    """First step from which each hop class stays at `level` [1 + sample, hop], infinite where it does not."""
    table = rows[rows["hops"] > 0].sort_values(["hops", "step"])
    steps = np.sort(table["step"].unique())
    correct, items = (
        table.pivot_table(index="hops", columns="step", values=name).to_numpy() for name in ("correct", "items")
    )
    accuracy = _resampled(correct.astype(np.int64), items.astype(np.int64), options)  # [1 + sample, hop, step]
    stays = np.logical_and.accumulate((accuracy >= level)[..., ::-1], axis=-1)[..., ::-1]
    return np.where(stays[..., -1], steps[stays.argmax(axis=-1)], inf).astype(np.float64)


def _estimate(values: Values) -> Estimate:
    """The first value as measured and the percentiles of the others; undefined if any is."""
    if not np.isfinite(values[0]):
        return Estimate(nan)
    rest = values[1:][~np.isnan(values[1:])]
    if len(rest) < len(values) - 1:
        return Estimate(float(values[0]))
    low, high = np.quantile(rest, [1 - LATE, LATE], method="nearest")
    return Estimate(float(values[0]), float(low), float(high))


def _over(passing: Mapping[int, tuple[Values, ...]], statistic: Callable[..., Values]) -> dict[int, Estimate]:
    with np.errstate(invalid="ignore", divide="ignore"):  # hops that are never learned
        return {seed: _estimate(statistic(*at)) for seed, at in passing.items()}


def _passing_text(passing: dict[str, dict[int, Values]], level: float) -> str:
    texts = []
    for task, seeds in passing.items():
        for seed, at in seeds.items():
            steps = ", ".join("never" if step == inf else f"{step:.0f}" for step in at[0])
            texts.append(f"{task} seed {seed}: {steps}")
    return f"Steps from which hops 1, 2, .. stay at {level:g}: {'; '.join(texts)}." if texts else "No accuracy table."
