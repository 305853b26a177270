"""Claim 7: letter works far beyond its training length and number does not, at one length and along the paper's curve."""

from __future__ import annotations

import numpy as np
import pandas as pd

from posym import paper
from posym.claims.base import TASKS, Choice, Options, Tables, last_step, of_task, vary
from posym.claims.verdicts import Estimate, Part, at_least, at_most, judge

QUOTED = {"letter": (at_least(0.8), "about .89"), "number": (at_most(0.3), "about .23")}


def generalisation(tables: Tables, choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 7: accuracy at 850 tokens, and the mean absolute difference from the paper's curve where both have a length.

    Limits over items are clustered by prefix; those of the difference take each length at its nearest and farthest limit,
    so they are wider than 95 %.
    """
    at_quoted, along, lengths = {}, {}, {}
    for task in TASKS:
        points, differences = {}, {}
        for seed, rows in of_task(tables, "extrapolation", task).items():
            rows = _curve(rows, choice.step)
            quoted = rows[rows["length"] == paper.LENGTH_QUOTED]
            if len(quoted):
                points[seed] = _limits(quoted.iloc[0])
            theirs = pd.Series(paper.LENGTH_CURVES[task])
            common = theirs.index.intersection(rows["extra"])
            if len(common):
                ours = rows.set_index("extra").loc[common]
                lengths[task] = f"{len(common)} lengths up to +{common.max()}"
                differences[seed] = _difference(ours, theirs[common])
        at_quoted[task], along[task] = points, differences
    parts = [
        judge(f"{task}: accuracy at {paper.LENGTH_QUOTED} tokens", at_quoted[task], *QUOTED[task])
        for task in ("letter", "number")
    ]
    parts += [
        judge(
            f"{task}: mean absolute difference of accuracy from the paper's curve",
            along[task],
            at_most(0.1),
            "0 (itself)",
        )
        for task in ("letter", "number")
    ]
    if not lengths:
        return parts, "No extrapolation table."
    return parts, f"Compared at {', '.join(f'{task} {text}' for task, text in lengths.items())} extra tokens."


def step_choices(tables: Tables) -> list[Choice]:
    """The other checkpoints whose curve was measured."""
    if "extrapolation" not in tables:
        return []
    steps = tables["extrapolation"].groupby(["task", "seed"])["step"].unique()
    others = sorted({int(step) for found in steps for step in found if step != max(found)})
    return vary(step=others)


def _curve(rows: pd.DataFrame, step: int | None) -> pd.DataFrame:
    every = rows[rows["hops"] == 0]
    return last_step(every) if step is None else every[every["step"] == step]


def _limits(row: pd.Series) -> Estimate:
    return Estimate(float(row["accuracy"]), float(row["low"]), float(row["high"]))


def _difference(ours: pd.DataFrame, theirs: pd.Series) -> Estimate:
    value = (ours["accuracy"] - theirs).abs().mean()
    outside = np.maximum(ours["low"] - theirs, theirs - ours["high"]).clip(lower=0)
    farthest = np.maximum((ours["low"] - theirs).abs(), (ours["high"] - theirs).abs())
    return Estimate(float(value), float(outside.mean()), float(farthest.mean()))
