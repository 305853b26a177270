"""What both figures take from the discrepancy table, and how they draw it."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from posym.errors import InputError
from posym.figures import style

INDEX, RETRIEVAL = style.TASKS["number"], style.TASKS["letter"]  # each construction has its task's colour
MAXIMUM, MINIMUM = "-", (0, (4, 1.5))
CORRECTED: dict[str, Any] = {"color": "#000000", "linestyle": (0, (1, 1.2)), "linewidth": 1.3}
PRINTED: dict[str, Any] = {"color": style.GREY, "linestyle": "-", **style.PAPER_LINE}
OUTSIDE: dict[str, Any] = {"facecolor": style.GREY, "alpha": 0.12, "linewidth": 0}
LENGTH_TICKS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def chosen(
    table: pd.DataFrame, construction: str, query_kind: str, theta: float, alphabet: int | None = None
) -> pd.DataFrame:
    """One curve of the discrepancy table, by length; one that is not there raises `InputError`.

    `alphabet` is for Retrieval; Index's curves do not depend on it.
    """
    rows = table[
        (table["construction"] == construction)
        & (table["query_kind"] == query_kind)
        & (table["theta"] == theta)
        & (True if alphabet is None else table["alphabet"] == alphabet)
    ]
    if rows.empty:
        raise InputError(
            f"the discrepancy table has no {construction} curve of {query_kind} queries at theta {theta}"
            + (f" with {alphabet} letters" if alphabet is not None else "")
            + ": name one that it has under theory_figures"
        )
    return rows.sort_values("length")


def curve(axes: Axes, rows: pd.DataFrame, column: str, look: style.Look, line: Any, **changes: Any) -> None:
    """One column against length, with a few of the look's markers, evenly on a log axis."""
    count = len(rows)
    marked = sorted({min(count - 1, round(count ** (step / 7)) - 1) for step in range(1, 8)})
    properties = {"color": look.colour, "linestyle": line, "marker": look.marker, "zorder": 3, **changes}
    axes.plot(rows["length"], rows[column], markevery=marked, **properties)


def length_axis(axes: Axes, rows: pd.DataFrame) -> None:
    """A log axis of lengths."""
    longest = rows["length"].max()
    axes.set_xscale("log")
    axes.set_xlim(2, longest)
    axes.set_xticks([tick for tick in LENGTH_TICKS if tick <= longest], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_xlabel("length (tokens, log scale)")


def shade_outside(axes: Axes, rows: pd.DataFrame) -> int | None:
    """Shade the lengths at which the construction's condition fails; returns the last length at which it holds."""
    holds = rows.loc[rows["condition_holds"], "length"]
    last = int(holds.max()) if len(holds) else None
    if not rows["condition_holds"].all():
        axes.axvspan(last or 0, rows["length"].max(), zorder=0, **OUTSIDE)
    return last
