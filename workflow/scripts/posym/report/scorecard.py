"""The claims of the scorecard, checked and put into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posym.errors import InputError
from posym.files import read_json
from posym.report.numbers import number

SYMBOLS = {"reproduced": "✓", "not reproduced": "✗", "inconclusive": "?", "not run": "○"}
TEXTS = ("choice", "statistic", "paper", "threshold", "seeds")


@dataclass(frozen=True)
class Verdict:
    """One decision and what it rests on: a claim, a part of one, or a claim under another choice."""

    verdict: str
    measured: str
    texts: Mapping[str, str]

    @property
    def symbol(self) -> str:
        """What stands before the word, so that colour is never alone."""
        return SYMBOLS[self.verdict]

    @property
    def style(self) -> str:
        """Its class in the style sheet."""
        return self.verdict.replace(" ", "-")


@dataclass(frozen=True)
class Claim:
    """One claim of the paper."""

    label: str
    claim: str
    source: str
    evidence: str
    decision: Verdict
    parts: list[Verdict]
    choices: list[Verdict]


def read_scorecard(path: Path) -> list[Claim]:
    """The claims in the order of the file; one that lacks a text or has an unknown verdict raises `InputError`."""
    content = read_json(path)
    if not isinstance(content, list):
        raise InputError(f"{path} should be a list of claims: delete it and run the `scorecard` stage again")
    return [_claim(entry, f"{path}, claim {place}") for place, entry in enumerate(content, start=1)]


def count(claims: list[Claim]) -> dict[str, list[Claim]]:
    """The claims by verdict, all verdicts in their order."""
    return {verdict: [one for one in claims if one.decision.verdict == verdict] for verdict in SYMBOLS}


def _claim(entry: Any, where: str) -> Claim:
    if not isinstance(entry, dict) or not {"id", "claim", "source", "evidence"} <= entry.keys():
        raise InputError(
            f"{where} lacks id, claim, source or evidence: delete the file and run the `scorecard` stage again"
        )
    return Claim(
        label=str(entry["id"]),
        claim=str(entry["claim"]),
        source=str(entry["source"]),
        evidence=str(entry["evidence"]),
        decision=_verdict(entry, where),
        parts=[
            _verdict(part, f"{where}, part {place}") for place, part in enumerate(entry.get("parts") or [], start=1)
        ],
        choices=[
            _verdict(choice, f"{where}, choice {place}")
            for place, choice in enumerate(entry.get("choices") or [], start=1)
        ],
    )


def _verdict(entry: Mapping[str, Any], where: str) -> Verdict:
    verdict = entry.get("verdict")
    if verdict not in SYMBOLS:
        raise InputError(
            f"{where} has the verdict {verdict!r}: it should be one of {', '.join(SYMBOLS)};"
            " delete the file and run the `scorecard` stage again"
        )
    low, high = entry.get("low"), entry.get("high")
    measured = number(entry.get("value"))
    if low is not None and high is not None:
        measured += f" [{number(low)}, {number(high)}]"
    return Verdict(
        verdict, measured, {key: "not given" if entry.get(key) is None else number(entry[key]) for key in TEXTS}
    )
