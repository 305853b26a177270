"""Bootstrap intervals of means, over items or over clusters of items."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
LEVEL = 0.95
Z = 1.959963984540054  # the normal quantile of LEVEL


def resampling_weights(clusters: NDArray[np.int64], samples: int, seed: int) -> Values:
    """Weights [sample, item], rows adding up to 1: how much an item counts in each resampling of whole clusters.

    `clusters` [item] names each item's cluster; items that are all their own cluster give the ordinary bootstrap.
    """
    _, item_cluster = np.unique(clusters, return_inverse=True)
    count = int(item_cluster.max()) + 1
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=samples)
    weights = drawn[:, item_cluster].astype(np.float64)
    return weights / weights.sum(axis=1, keepdims=True)


@cache
def item_weights(items: int, samples: int, seed: int) -> Values:
    """The `resampling_weights` of items that are all their own cluster: the same for every checkpoint, so made once."""
    return resampling_weights(np.arange(items), samples, seed)


def mean_interval(values: Values, weights: Values) -> tuple[Values, Values]:
    """Percentile interval (low, high) [...] of the mean over items of `values` [item, ...]."""
    flat = values.reshape(len(values), -1)
    low, high = np.quantile(weights @ flat, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low.reshape(values.shape[1:]), high.reshape(values.shape[1:])


def share_interval(
    correct: NDArray[np.bool_], clusters: NDArray[np.int64], samples: int, seed: int
) -> tuple[float, float]:
    """Interval (low, high) of the share of `correct` [item], clusters resampled whole.

    Where all items agree no resampling can show any spread: there it is the Wilson interval with one trial a cluster.
    """
    trials = len(np.unique(clusters))
    if correct.all():
        return trials / (trials + Z**2), 1.0
    if not correct.any():
        return 0.0, Z**2 / (trials + Z**2)
    low, high = mean_interval(correct.astype(np.float64), resampling_weights(clusters, samples, seed))
    return float(low), float(high)
