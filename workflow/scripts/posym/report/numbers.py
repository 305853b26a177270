"""Numbers as people read them, and the two tables of numbers that stand beside figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Rows = Sequence[Mapping[str, str]]
PASSED = 0.9  # the accuracy at which a hop counts as learned (paper section 4)
NOT_MEASURED = "not measured"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Table:
    """A small table: a caption, column heads, rows whose first cell is their head."""

    caption: str
    head: list[str]
    rows: list[list[str]] = field(default_factory=list)


def number(value: Any, digits: int = 3) -> str:
    """A number with thousands separators or `digits` significant digits, minus signs as such; other things as they are."""
    if value is None or value == "":
        return NOT_MEASURED
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or (value.is_integer() and abs(value) >= 10**digits):
        text = f"{int(value):,}"
    else:
        text = f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    return text.replace("-", MINUS, 1) if value < 0 else text


def share(value: str) -> str:
    """An accuracy, two digits, halves rounded up as the page's script does."""
    return str(Decimal(float(value)).quantize(Decimal("0.01"), ROUND_HALF_UP))


def with_interval(row: Mapping[str, str]) -> str:
    """Mean and 95 % interval of a summary row; without an interval the mean alone."""
    return share(row["mean"]) + (f" [{share(row['low'])}, {share(row['high'])}]" if row["low"] and row["high"] else "")


def ordered(rows: Rows, column: str) -> list[int]:
    """The whole numbers in a column, each once, from small to large."""
    return sorted({int(row[column]) for row in rows})


def tasks_of(rows: Rows) -> list[str]:
    """The tasks, number before letter as the figures have them, others after these by name."""
    known = ["number", "letter"]
    return sorted({row["task"] for row in rows}, key=lambda task: (known.index(task) if task in known else 2, task))


def learning_table(rows: Rows) -> Table:
    """By task and hops: accuracy at the last checkpoint, and the first checkpoint at which it is `PASSED` or more."""
    last = max(ordered(rows, "step"))
    table = Table(
        f"Accuracy at step {last:,}, and the first checkpoint with accuracy {PASSED:g} or more",
        ["task and hops", f"accuracy at step {last:,}", f"step of {PASSED:g}"],
    )
    for task in tasks_of(rows):
        for hops in ordered([row for row in rows if row["task"] == task], "hops"):
            line = {int(row["step"]): row for row in rows if row["task"] == task and int(row["hops"]) == hops}
            passed = [step for step in sorted(line) if float(line[step]["mean"]) >= PASSED]
            first = f"{passed[0]:,}" if passed else "not reached"
            table.rows.append([f"{task}, {hops_label(hops)}", with_interval(line[max(line)]), first])
    return table


def length_table(rows: Rows) -> Table:
    """By length: accuracy over all items of each task."""
    tasks = tasks_of(rows)
    table = Table(
        "Accuracy over all items by input length, final checkpoint",
        ["tokens (extra)", *(f"{task} task" for task in tasks)],
    )
    for extra in ordered(rows, "extra"):
        at = {row["task"]: row for row in rows if row["hops"] == "0" and int(row["extra"]) == extra}
        if at:
            length = int(next(iter(at.values()))["length"])
            cells = [with_interval(at[task]) if task in at else NOT_MEASURED for task in tasks]
            table.rows.append([f"{length:,} ({extra:,})", *cells])
    return table


def hops_label(hops: int) -> str:
    """A hop class in words."""
    return "1 hop" if hops == 1 else f"{hops} hops"


TABLES = {"accuracy": learning_table, "length": length_table}  # by figure
