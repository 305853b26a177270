"""From estimates to a verdict, by one rule that was fixed before any run.

A statistic is estimated once per seed. With three or more seeds its interval is the 95 % t-interval of the mean over seeds;
with fewer it is the 95 % interval over items (of both, from the lowest limit to the highest).

- `reproduced`: every seed meets the threshold, and so does the whole interval.
- `not reproduced`: the whole interval lies on the other side.
- `inconclusive`: anything else; also a statistic that is undefined, or that has one or two seeds and no interval over items.
- `not run`: nothing was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

LEVEL = 0.95
ENOUGH_SEEDS = 3
REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE, NOT_RUN = "reproduced", "not reproduced", "inconclusive", "not run"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE, NOT_RUN)


@dataclass(frozen=True)
class Estimate:
    """A statistic of one seed and its 95 % limits over items; NaN where it has none. An exact one equals its limits."""

    value: float
    low: float = nan
    high: float = nan


def exact(value: float) -> Estimate:
    """A statistic without sampling: one of the theory, or of a whole enumeration."""
    return Estimate(value, value, value)


@dataclass(frozen=True)
class Threshold:
    """What a value has to meet: from `least` to `most`, both included unless `strict`."""

    text: str
    least: float = -inf
    most: float = inf
    strict: bool = False

    def meets(self, value: float) -> bool:
        """Whether a value is on the right side; NaN is not."""
        return self.least < value < self.most if self.strict else self.least <= value <= self.most

    def excludes(self, low: float, high: float) -> bool:
        """Whether all of an interval is on the wrong side, and on one side of it."""
        below = high <= self.least if self.strict else high < self.least
        above = low >= self.most if self.strict else low > self.most
        return bool(below or above)


def at_least(limit: float) -> Threshold:
    """A threshold of `limit` or more."""
    return Threshold(f">= {limit:g}", least=limit)


def at_most(limit: float) -> Threshold:
    """A threshold of `limit` or less."""
    return Threshold(f"<= {limit:g}", most=limit)


def above(limit: float) -> Threshold:
    """A threshold of more than `limit`."""
    return Threshold(f"> {limit:g}", least=limit, strict=True)


def below(limit: float) -> Threshold:
    """A threshold of less than `limit`."""
    return Threshold(f"< {limit:g}", most=limit, strict=True)


def within(centre: float, distance: float) -> Threshold:
    """A threshold of at most `distance` from `centre`."""
    return Threshold(f"{centre:g} +- {distance:g}", least=centre - distance, most=centre + distance)


@dataclass(frozen=True)
class Part:
    """One statistic of a claim, its interval, the paper's value, and its verdict."""

    statistic: str
    value: float
    low: float
    high: float
    paper: str
    threshold: str
    verdict: str
    seeds: int
    per_seed: tuple[float, ...] = ()


def t_interval(values: Sequence[float] | NDArray[np.float64] | pd.Series) -> tuple[float, float]:
    """95 % t-interval (low, high) of the mean of two values or more."""
    mean = float(np.mean(values))
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1) * stats.sem(values))
    return mean - half, mean + half


def judge(statistic: str, estimates: Mapping[int, Estimate] | None, threshold: Threshold, paper: str) -> Part:
    """The verdict on one statistic from its estimates by seed; `None` or no seeds is `not run`, a NaN value undefined."""
    if not estimates:
        return Part(statistic, nan, nan, nan, paper, threshold.text, NOT_RUN, 0)
    values = np.array([one.value for one in estimates.values()])
    value = float(values.mean())
    if len(values) >= ENOUGH_SEEDS:
        low, high = t_interval(values)
    else:
        low = float(np.min([one.low for one in estimates.values()]))  # NaN if any is
        high = float(np.max([one.high for one in estimates.values()]))
    if isnan(value) or isnan(low) or isnan(high):
        verdict = INCONCLUSIVE
    elif all(map(threshold.meets, (*values, low, high))):
        verdict = REPRODUCED
    elif threshold.excludes(low, high):
        verdict = NOT_REPRODUCED
    else:
        verdict = INCONCLUSIVE
    return Part(statistic, value, low, high, paper, threshold.text, verdict, len(values), tuple(map(float, values)))


def judge_exact(statistic: str, value: Estimate | None, threshold: Threshold, paper: str) -> Part:
    """The verdict on what is computed and not trained: it has no seeds."""
    return replace(judge(statistic, None if value is None else {0: value}, threshold, paper), seeds=0)


def together(verdicts: Iterable[str]) -> str:
    """The verdict on a claim from its parts: one that fails decides; some that were not run leave it inconclusive."""
    found = set(verdicts)
    if found <= {NOT_RUN}:
        return NOT_RUN
    if NOT_REPRODUCED in found:
        return NOT_REPRODUCED
    return REPRODUCED if found == {REPRODUCED} else INCONCLUSIVE
