"""Claim 13: pretrained language models on the one-hop games, where number collapses and letter holds."""

from __future__ import annotations

import pandas as pd
from scipy import stats

from posym.claims.base import Choice, Options, Tables, vary
from posym.claims.verdicts import LEVEL, Estimate, Part, at_least, below, judge

LENGTH = 32
ENTRY_LENGTH, ENTRY_ACCURACY = 16, 0.85  # models below this on letter were dropped by the paper


def language_models(tables: Tables, choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 13: accuracy at length 32 of every model that the paper would have kept; a run of fresh items is the unit.

    Fewer than three runs are pooled, with a 95 % Wilson interval over items.
    """
    if "games" not in tables:
        return [judge("accuracy at length 32", None, at_least(0.8), "number .15 to .45, letter .88 to .99")], (
            "No language model was asked."
        )
    table = tables["games"]
    parts: list[Part] = []
    texts = []
    for model, rows in table.groupby("model"):
        method = choice.method if choice.method in set(rows["method"]) else str(rows["method"].iloc[0])
        rows = rows[rows["method"] == method]
        entry = rows[(rows["task"] == "letter") & (rows["length"] == ENTRY_LENGTH)]
        share = entry["correct"].sum() / entry["items"].sum() if len(entry) else float("nan")
        kept = share >= ENTRY_ACCURACY
        texts.append(
            f"{model} by {method}: letter {share:.2f} at length {ENTRY_LENGTH}, {'kept' if kept else 'dropped'}"
        )
        if not kept:
            continue
        for task, threshold, theirs in (("number", below(0.5), ".15 to .45"), ("letter", at_least(0.8), ".88 to .99")):
            at = rows[(rows["task"] == task) & (rows["length"] == LENGTH)]
            parts.append(judge(f"{model}, {task}: accuracy at length {LENGTH}", _by_run(at), threshold, theirs))
    if not parts:
        nobody = {0: Estimate(float("nan"))}
        parts = [
            judge(
                "models that pass the paper's entry test", nobody, at_least(0.8), "number .15 to .45, letter .88 to .99"
            )
        ]
        texts.append(f"none reaches the paper's {ENTRY_ACCURACY:g} on letter, so none can decide")
    return parts, f"{'; '.join(texts)}."


def method_choices(tables: Tables) -> list[Choice]:
    """The other ways in which the models answered."""
    if "games" not in tables:
        return []
    return vary(method=sorted(set(tables["games"]["method"]) - {Choice.method}))


def _by_run(rows: pd.DataFrame) -> dict[int, Estimate]:
    sums = rows.groupby("run")[["correct", "items"]].sum()
    if not len(sums):
        return {}
    if len(sums) >= 3:
        return {int(run): Estimate(float(row["correct"] / row["items"])) for run, row in sums.iterrows()}
    correct, items = int(sums["correct"].sum()), int(sums["items"].sum())
    interval = stats.binomtest(correct, items).proportion_ci(LEVEL, "wilson")
    return {0: Estimate(correct / items, interval.low, interval.high)}
