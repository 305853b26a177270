"""The scorecard for people: one table, then each claim with its parts and the verdict under other choices."""

from __future__ import annotations

from collections import Counter
from typing import Any

from posym.claims.verdicts import VERDICTS

Row = dict[str, Any]


def number(value: float | None) -> str:
    """Three significant digits, none for what is undefined."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def with_interval(row: Row) -> str:
    """`.93 [.90, .96]`, or the value alone where it is exact or has no interval."""
    if row["low"] is None or row["high"] is None or row["low"] == row["high"]:
        return number(row["value"])
    return f"{number(row['value'])} [{number(row['low'])}, {number(row['high'])}]"


def markdown(experiment: str, rows: list[Row]) -> str:
    """The whole of scorecard.md."""
    counts = Counter(row["verdict"] for row in rows)
    lines = [
        f"# Scorecard of `{experiment}`",
        "",
        ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]) + ".",
        "",
        "Verdicts are decided by code from the measurements, by thresholds set before any run. With three or more seeds the"
        " interval is the 95 % t-interval over seeds, with fewer the 95 % interval over items. The number shown is that of the part"
        " that decides.",
        "",
        "| | claim | verdict | statistic | value | paper | threshold | seeds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['id']} | {row['claim']} | **{row['verdict']}** | {row['statistic']} | {with_interval(row)} | {row['paper']} |"
        f" {row['threshold']} | {row['seeds'] or '-'} |"
        for row in rows
    ]
    for row in rows:
        lines += [
            "",
            f"## {row['id']}. {row['claim']}: {row['verdict']}",
            "",
            f"Source: {row['source']}. {row['evidence']}",
            "",
        ]
        lines += ["| statistic | value | each seed | paper | threshold | verdict |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {part['statistic']} | {with_interval(part)} | {', '.join(map(number, part['per_seed']))} | {part['paper']} |"
            f" {part['threshold']} | {part['verdict']} |"
            for part in row["parts"]
        ]
        if row["choices"]:
            lines += ["", "Under other choices that the paper does not state:", ""]
            lines += [
                "| choice | statistic that it changes | value | its verdict | the claim's |",
                "|---|---|---|---|---|",
            ]
            lines += [
                f"| {choice['choice']} | {choice['statistic']} | {with_interval(choice)} | {choice['part_verdict']} |"
                f" {choice['verdict']} |"
                for choice in row["choices"]
            ]
    return "\n".join(lines) + "\n"
