"""Compare a run with another one, by default with the reference run: what differs beyond the intervals of both.

    python studies/compare.py results/quick
    python studies/compare.py results/mine docs/reference

Each folder holds scorecard.json and tables/*.csv. Two values differ beyond their intervals if these do not meet; a value
without an interval is left out, and said so. Exit status 1 if a verdict differs, 2 if a folder cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

from posym.claims.markdown import with_interval

REFERENCE = ROOT / "docs" / "reference"
SUMMARY = {"mean", "low", "high", "seeds", "items", "band"}
SHOWN = 3  # largest differences of a table


class UnreadableError(Exception):
    """A folder or file that is not what it should be, in one sentence."""


def read_scorecard(folder: Path) -> dict[str, dict[str, Any]]:
    """The claims of a folder by number."""
    path = folder / "scorecard.json"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {row["id"]: row for row in rows if row["parts"] is not None}
    except FileNotFoundError:
        raise UnreadableError(f"{path} is missing: run the `scorecard` stage, or name another folder") from None
    except (ValueError, TypeError, KeyError):
        raise UnreadableError(f"{path} is no scorecard: delete it and run the `scorecard` stage again") from None


def compare_verdicts(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> list[str]:
    """One line a claim whose verdict differs, `not run` on either side left out."""
    lines = []
    for number in [number for number in ours if number in theirs]:
        one, other = ours[number], theirs[number]
        if one["verdict"] != other["verdict"] and "not run" not in (one["verdict"], other["verdict"]):
            lines.append(
                f"claim {number} ({one['claim']}): {one['verdict']} here, {other['verdict']} there;"
                f" {one['statistic']}: {_text(one)} here, {_text(other)} there"
            )
    return lines


def compare_statistics(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> tuple[list[str], int]:
    """One line a statistic of the scorecard whose intervals do not meet, and how many were compared."""
    known = {part["statistic"]: part for row in theirs.values() for part in row["parts"]}
    lines, compared = [], 0
    for row in ours.values():
        for part in row["parts"]:
            other = known.get(part["statistic"])
            if other is None or None in (part["low"], part["high"], other["low"], other["high"]):
                continue
            compared += 1
            if part["high"] < other["low"] or other["high"] < part["low"]:
                lines.append(f"{part['statistic']}: {_text(part)} here, {_text(other)} there")
    return lines, compared


def compare_table(ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Rows of a figure's data whose intervals do not meet, the farthest apart first, and how many rows were compared.

    Rows belong together when all columns but those of the summary agree; they need an interval on both sides.
    """
    keys = [name for name in ours.columns if name not in SUMMARY and name in theirs.columns]
    both = ours.merge(theirs, on=keys, suffixes=("", "_there"))
    both = both.dropna(subset=["low", "high", "low_there", "high_there"])
    gap = pd.concat([both["low"] - both["high_there"], both["low_there"] - both["high"]], axis=1).max(axis=1)
    apart = both.assign(gap=gap)[gap > 0].sort_values("gap", ascending=False)
    return apart[[*keys, "mean", "low", "high", "mean_there", "low_there", "high_there"]], len(both)


def _text(row: dict[str, Any]) -> str:
    return "undefined" if row["value"] is None else with_interval(row)


def report(ours: Path, theirs: Path) -> tuple[list[str], bool]:
    """All lines of the comparison, and whether the verdicts agree."""
    here, there = read_scorecard(ours), read_scorecard(theirs)
    verdicts = compare_verdicts(here, there)
    statistics, compared = compare_statistics(here, there)
    lines = [f"{ours} against {theirs}", "", f"Verdicts that differ: {len(verdicts) or 'none'}", *verdicts, ""]
    lines += [f"Statistics of the scorecard beyond both intervals: {len(statistics)} of {compared}", *statistics, ""]
    for path in sorted((ours / "tables").glob("*.csv")):
        other = theirs / "tables" / path.name
        if not other.exists():
            continue
        one, two = pd.read_csv(path), pd.read_csv(other)
        if not {"mean", "low", "high"} <= set(one.columns) & set(two.columns):
            continue
        apart, rows = compare_table(one, two)
        lines.append(f"{path.name}: {len(apart)} of {rows} rows beyond both intervals")
        lines += [f"  {line}" for line in apart.head(SHOWN).to_string(index=False).splitlines()] if len(apart) else []
    return lines, not verdicts


def main() -> int:
    """Print the comparison; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of the run, for example results/paper")
    parser.add_argument("reference", type=Path, nargs="?", default=REFERENCE, help="what to compare with")
    arguments = parser.parse_args()
    try:
        lines, agree = report(arguments.run, arguments.reference)
    except UnreadableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
