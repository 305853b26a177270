"""When a head is purely positional or purely symbolic, from a scores table.

A head is pure at a tolerance gamma when one of its two scores is at least 1 - gamma and the other at most gamma. It
counts from the first checkpoint such that there and at every later one it is pure in that kind (paper Figs 2C and 7);
to be pure for a while does not count. Near the start all heads score (1, 1), which is neither kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from posym.errors import InputError

KINDS = ("positional", "symbolic")
OTHER = {"positional": "symbolic", "symbolic": "positional"}
HEAD = ["task", "seed", "layer", "head"]


def scores_at(scores: pd.DataFrame, tau: float, query: str = "last", hops: int = 0) -> pd.DataFrame:
    """The rows of a scores table (with `task` and `seed`) at one tau, query and hop class; `hops` 0 means all items.

    What is left has one row a checkpoint and head. A task and seed without such rows raises `InputError`.
    """
    near = np.isclose(scores["tau"], tau, rtol=1e-9, atol=0)  # 1e-4 may have been written in several ways
    chosen = scores[near & (scores["query"] == query) & (scores["hops"] == hops)]
    have = set(zip(chosen["task"], chosen["seed"], strict=True))
    for task, seed in sorted(set(zip(scores["task"], scores["seed"], strict=True)) - have):
        queries = ", ".join(sorted(scores["query"].unique()))
        taus = ", ".join(f"{value:g}" for value in sorted(scores["tau"].unique()))
        raise InputError(
            f"the scores of task {task}, seed {seed} have no query {query!r} with hops {hops} at tau {tau:g}:"
            f" there are queries {queries} and taus {taus}"
        )
    return chosen


def first_pure_steps(scores: pd.DataFrame, gammas: Sequence[float]) -> pd.DataFrame:
    """The step from which each head is pure: `task, seed, layer, head, kind, gamma, step`, in that order of rows.

    `scores` has one row a checkpoint and head, as `scores_at` leaves them. A head that is not pure at the last
    checkpoint has no row. Steps are optimizer steps.
    """
    rows = scores.sort_values([*HEAD, "step"])
    if rows.duplicated([*HEAD, "step"]).any():
        raise ValueError("several scores for one head and checkpoint: choose one tau, query and hop class first")
    found = []
    for gamma in gammas:
        for kind in KINDS:
            pure = (rows[kind] >= 1 - gamma) & (rows[OTHER[kind]] <= gamma)
            backwards = rows[HEAD].assign(pure=pure.astype(np.uint8))[::-1]
            stays = backwards.groupby(HEAD)["pure"].cummin()[::-1].astype(bool)
            first = rows[stays].groupby(HEAD, as_index=False)["step"].min()
            found.append(first.assign(kind=kind, gamma=float(gamma)))
    columns = [*HEAD, "kind", "gamma"]
    return pd.concat(found)[[*columns, "step"]].sort_values(columns, ignore_index=True)


def pure_head_counts(scores: pd.DataFrame, gammas: Sequence[float]) -> pd.DataFrame:
    """Number of pure heads at every checkpoint: `task, seed, gamma, kind, step, heads`, zeros included.

    `scores` as in `first_pure_steps`.
    """
    keys = ["task", "seed", "gamma", "kind"]
    grid = scores[["task", "seed", "step"]].drop_duplicates()
    grid = grid.merge(pd.DataFrame({"gamma": [float(gamma) for gamma in gammas]}), how="cross")
    grid = grid.merge(pd.DataFrame({"kind": KINDS}), how="cross")
    first = first_pure_steps(scores, gammas).rename(columns={"step": "first"})
    joined = grid.merge(first[[*keys, "first"]], on=keys, how="left")
    joined["heads"] = (joined["first"] <= joined["step"]).astype(np.int64)  # no head at all: missing, so not counted
    return joined.groupby([*keys, "step"], as_index=False)["heads"].sum()
