"""Means over seeds and the band around them.

What a band shows depends on how many seeds there are, and every figure says so in a corner:

- three or more: the 95 % t-interval of the mean over seeds;
- two: both seeds, lowest to highest (a t-interval with one degree of freedom is 13 times as wide as the two differ);
- one: the 95 % interval over that seed's items, where the quantity has one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from posym.errors import InputError

LEVEL = 0.95
SUMMARY = ["mean", "low", "high", "seeds", "items", "band"]  # the columns that `over_seeds` adds to its keys


def wilson(correct: pd.Series, items: pd.Series) -> tuple[pd.Series, pd.Series]:
    """95 % Wilson interval (low, high) of the share `correct` / `items`; it has a width at 0 and 1 too."""
    z = stats.norm.ppf((1 + LEVEL) / 2)
    share = correct / items
    centre = (share + z**2 / (2 * items)) / (1 + z**2 / items)
    half = z * np.sqrt(share * (1 - share) / items + z**2 / (4 * items**2)) / (1 + z**2 / items)
    return (centre - half).clip(lower=0), (centre + half).clip(upper=1)


def over_seeds(table: pd.DataFrame, keys: list[str], value: str, limits: tuple[str, str] | None = None) -> pd.DataFrame:
    """Mean of `value` over seeds and its band: the `keys` (with `task` first), then the columns `SUMMARY`.

    `limits` names the columns that hold each row's interval over items, for the case of one seed; `items` is the
    smallest number of items of a seed. Bands are not cut at 0 and 1. Seeds of one task that were not measured at the
    same keys raise `InputError`.
    """
    groups = table.groupby(keys)
    made = groups.agg(mean=(value, "mean"), low=(value, "min"), high=(value, "max"), seeds=("seed", "nunique"))
    made["items"] = groups["items"].min()
    wanted = table.groupby("task")["seed"].nunique().reindex(made.index.get_level_values("task")).to_numpy()
    if (made["seeds"] != wanted).any() or (groups.size() != wanted).any():
        task = made.index.get_level_values("task")[(made["seeds"] != wanted) | (groups.size() != wanted)][0]
        raise InputError(
            f"the seeds of task {task} were not measured at the same {', '.join(keys[1:])}: run the stage that makes"
            " their tables again for all seeds"
        )
    several, single = made["seeds"] >= 3, made["seeds"] == 1
    made["band"] = np.select([several, ~single], ["t-interval", "range"], "items" if limits else "none")
    count = made["seeds"].clip(lower=2)
    half = stats.t.ppf((1 + LEVEL) / 2, count - 1) * groups[value].std(ddof=1) / np.sqrt(count)
    for side, sign, column in (("low", -1, 0), ("high", 1, 1)):
        over_items = groups[limits[column]].min() if limits else np.nan
        made[side] = made[side].where(~several, made["mean"] + sign * half).where(~single, over_items)
    return made.reset_index()[[*keys, *SUMMARY]]


def band_note(summary: pd.DataFrame, over_items: str = "") -> str:
    """One sentence for a figure's corner: what its bands are, and how many seeds and items stand behind them.

    `over_items` says how an interval over items was made, as in `95 % Wilson interval over items`.
    """
    notes = {task: _note(rows, over_items) for task, rows in summary.groupby("task")}
    if len(set(notes.values())) == 1:
        return next(iter(notes.values()))
    return "\n".join(f"{task}: {note[0].lower()}{note[1:]}" for task, note in notes.items())


def _note(rows: pd.DataFrame, over_items: str) -> str:
    fewest, most, seeds = rows["items"].min(), rows["items"].max(), rows["seeds"].max()
    items = f"{fewest} items" if fewest == most else f"{fewest} to {most} items"
    return {
        "t-interval": f"Band: 95 % t-interval over {seeds} seeds; {items} a point and seed",
        "range": f"Band: both of 2 seeds, lowest to highest; {items} a point and seed",
        "items": f"Band: {over_items}; 1 seed, {items} a point",
        "none": f"No band: 1 seed, {items} a point",
    }[rows["band"].iloc[0]]
