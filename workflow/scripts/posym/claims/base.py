"""What a claim is made of: its tables, the choices that the paper leaves open, its function, and what that returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from posym.claims.verdicts import NOT_REPRODUCED, NOT_RUN, REPRODUCED, Part, together

Tables = dict[str, pd.DataFrame]  # by contract name; a table that was not made is missing
TASKS = ("number", "letter")


@dataclass(frozen=True)
class Choice:
    """What a verdict can hang on and the paper does not say; the defaults are what the scorecard's own verdict uses."""

    gamma: float = 0.2  # tolerance of a pure head
    tau: float = 1e-4  # temperature of the swap weights
    query: str = "last"  # where the head is asked from
    accuracy: float = 0.9  # what counts as learned
    step: int | None = None  # checkpoint of the length curve; None is the last one
    hop: int = 1  # whose query the trained discrepancy is taken at
    heads: str = "pure"  # heads that the trained discrepancy is averaged over: pure or all
    intervention: str = "mean"  # what stands in for an ablated head
    summary: str = "mean"  # over the heads named for a hop: mean, largest or smallest cost
    theta: float = 0.8  # of the Index construction
    lengths: str = "log"  # lengths of the Index fit: spaced evenly in their logarithm, or all
    method: str = "reply"  # how a language model answers

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in vars(self).items()
            if value != getattr(Choice, name)
        )


@dataclass(frozen=True)
class Options:
    """How intervals are resampled."""

    samples: int = 1000
    seed: int = 0


Function = Callable[[Tables, Choice, Options], tuple[list[Part], str]]
Alternatives = Callable[[Tables], Sequence[Choice]]


@dataclass(frozen=True)
class Claim:
    """One claim: its number and words, where the paper makes it, its function, and other choices worth a verdict."""

    id: str
    claim: str
    source: str
    function: Function
    alternatives: Alternatives

    def row(self, tables: Tables, options: Options) -> dict[str, Any]:
        """Its entry of scorecard.json: top-level numbers are those of the part that decides the verdict.

        Under another choice they are those of the part that the choice changes, with that part's and the claim's verdict.
        """
        parts, evidence = self.function(tables, Choice(), options)
        verdict, deciding = _decide(parts)
        choices = []
        for choice in self.alternatives(tables) if verdict != NOT_RUN else []:
            others, _ = self.function(tables, choice, options)
            changed = [other for other in others if other not in parts]
            _, part = _decide(changed or others)
            choices.append(
                {
                    "choice": str(choice),
                    **_numbers(part),
                    "part_verdict": part.verdict,
                    "verdict": together(other.verdict for other in others),
                }
            )
        return {
            "id": self.id,
            "claim": self.claim,
            "source": self.source,
            **_numbers(deciding),
            "verdict": verdict,
            "seeds": deciding.seeds,
            "evidence": evidence,
            "parts": [
                {
                    **_numbers(part),
                    "verdict": part.verdict,
                    "seeds": part.seeds,
                    "per_seed": [_plain(value) for value in part.per_seed],
                }
                for part in parts
            ],
            "choices": choices,
        }


def _decide(parts: list[Part]) -> tuple[str, Part]:
    verdict = together(part.verdict for part in parts)
    worst = [part for part in parts if part.verdict == verdict]
    other = [part for part in parts if part.verdict not in (REPRODUCED, NOT_REPRODUCED)]
    return verdict, (worst or other)[0]


def _numbers(part: Part) -> dict[str, Any]:
    return {
        "statistic": part.statistic,
        "value": _plain(part.value),
        "low": _plain(part.low),
        "high": _plain(part.high),
        "paper": part.paper,
        "threshold": part.threshold,
    }


def _plain(value: float) -> float | None:
    """A number that JSON knows, six digits: no NaN, no infinity."""
    return float(f"{value:.6g}") if abs(value) < float("inf") else None


def vary(**fields: Sequence[Any]) -> list[Choice]:
    """One choice for each value of each field, everything else as in the scorecard's own verdict."""
    return [replace(Choice(), **{name: value}) for name, values in fields.items() for value in values]


def nothing(_tables: Tables) -> list[Choice]:
    """No other choice."""
    return []


def of_task(tables: Tables, name: str, task: str) -> dict[int, pd.DataFrame]:
    """A table's rows of one task by seed; nothing where it was not made."""
    if name not in tables:
        return {}
    rows = tables[name]
    return {int(seed): part for seed, part in rows[rows["task"] == task].groupby("seed")}


def last_step(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the last checkpoint."""
    return rows[rows["step"] == rows["step"].max()]
