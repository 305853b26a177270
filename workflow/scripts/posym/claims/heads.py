"""Claims 4 to 6: which kinds of heads a task ends with, and when they appear."""

from __future__ import annotations

from math import isclose, nan

import numpy as np
import pandas as pd

from posym.claims.base import Choice, Options, Tables, last_step, vary
from posym.claims.verdicts import Estimate, Part, above, at_least, at_most, judge
from posym.pure import first_pure_steps, pure_head_counts, scores_at

# A head is surely pure if even the unfavourable limits of its scores are, possibly if the favourable ones are.
BOUNDS = {
    "positional": {
        "surely": ("positional_low", "symbolic_high"),
        "measured": ("positional", "symbolic"),
        "possibly": ("positional_high", "symbolic_low"),
    },
    "symbolic": {
        "surely": ("positional_high", "symbolic_low"),
        "measured": ("positional", "symbolic"),
        "possibly": ("positional_low", "symbolic_high"),
    },
}


def chosen_scores(tables: Tables, task: str, choice: Choice) -> dict[int, pd.DataFrame]:
    """A task's scores by seed at the choice's tau and query, all items: one row a checkpoint and head."""
    if "scores" not in tables:
        return {}
    rows = tables["scores"]
    rows = rows[rows["task"] == task]
    return {int(seed): part for seed, part in scores_at(rows, choice.tau, choice.query).groupby("seed")}


def pure_steps(scores: pd.DataFrame, kind: str, choice: Choice, bound: str = "measured") -> pd.Series:
    """The first step of each head of `kind` that is pure at the end, by layer (the lowest of a layer's heads)."""
    positional, symbolic = BOUNDS[kind][bound]
    limits = scores.assign(positional=scores[positional], symbolic=scores[symbolic])
    steps = first_pure_steps(limits, [choice.gamma])
    return steps[steps["kind"] == kind].groupby("layer")["step"].min()


def pure_layers(tables: Tables, task: str, kind: str, choice: Choice) -> dict[int, set[int]]:
    """The layers by seed whose head is pure of `kind` at the end."""
    scores = chosen_scores(tables, task, choice)
    return {seed: set(pure_steps(rows, kind, choice).index) for seed, rows in scores.items()}


def pure_counts(tables: Tables, task: str, choice: Choice) -> dict[int, pd.Series]:
    """The number of pure heads of both kinds at every checkpoint, by seed; its index is the step."""
    found = {}
    for seed, rows in chosen_scores(tables, task, choice).items():
        found[seed] = pure_head_counts(rows, [choice.gamma]).groupby("step")["heads"].sum()
    return found


def demands(tables: Tables, choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 4: numbers of pure heads at the end. Limits count the heads that are surely and possibly pure."""
    wanted = {
        ("number", "positional"): (at_least(2), "4"),
        ("number", "symbolic"): (at_least(5), "8"),
        ("letter", "positional"): (at_most(0), "0"),
        ("letter", "symbolic"): (at_least(9), "11"),
    }
    parts, layers = [], []
    for (task, kind), (threshold, theirs) in wanted.items():
        estimates = {}
        for seed, rows in chosen_scores(tables, task, choice).items():
            found = {bound: pure_steps(rows, kind, choice, bound) for bound in BOUNDS[kind]}
            estimates[seed] = Estimate(*(float(len(found[bound])) for bound in ("measured", "surely", "possibly")))
            names = ", ".join(str(layer) for layer in found["measured"].index)
            layers.append(f"{task} seed {seed} {kind} layers {names or 'none'}")
        parts.append(judge(f"{task}: pure {kind} heads at the end", estimates, threshold, theirs))
    return parts, f"{'; '.join(layers)}." if layers else "No scores table."


def layer_by_layer(tables: Tables, choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 5: number's positional heads appear in the order of their layers, from layer 1 on.

    The statistic is the smallest delay, in steps, between a positional head and the next one above it; fewer than two
    such heads leave it undefined. Limits: the earliest and latest first steps that the scores' limits allow.
    """
    estimates, texts = {}, []
    for seed, rows in chosen_scores(tables, "number", choice).items():
        steps = {bound: pure_steps(rows, "positional", choice, bound) for bound in BOUNDS["positional"]}
        measured = steps["measured"][steps["measured"].index >= 1]
        texts.append(f"seed {seed}: {', '.join(f'layer {layer} at {step}' for layer, step in measured.items())}")
        if len(measured) < 2:
            estimates[seed] = Estimate(nan)
            continue
        late, early = (steps[bound].reindex(measured.index).to_numpy(float) for bound in ("surely", "possibly"))
        estimates[seed] = Estimate(
            float(np.diff(measured).min()), float((early[1:] - late[:-1]).min()), float((late[1:] - early[:-1]).min())
        )
    part = judge("number: smallest delay from one positional layer to the next (steps)", estimates, above(0), "800")
    return [part], f"First pure steps: {'; '.join(texts)}." if texts else "No scores table."


def last_layer_turns(tables: Tables, choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 6: the last layer of letter is positional for a while, and symbolic at the end."""
    before, after, texts = {}, {}, []
    for seed, rows in chosen_scores(tables, "letter", choice).items():
        top = rows[rows["layer"] == rows["layer"].max()].sort_values("step")
        turned = top[top["symbolic"] <= 0.5]
        if len(turned):
            most = turned.loc[turned["positional"].idxmax()]
            before[seed] = Estimate(*(float(most[f"positional{side}"]) for side in ("", "_low", "_high")))
            texts.append(f"seed {seed}: ({most['positional']:.2f}, {most['symbolic']:.2f}) at step {most['step']:.0f}")
        else:
            before[seed] = Estimate(0.0, 0.0, 0.0)
            texts.append(f"seed {seed}: never at or below .5 symbolic")
        end = last_step(top).iloc[0]
        after[seed] = Estimate(*(float(end[f"symbolic{side}"]) for side in ("", "_low", "_high")))
    parts = [
        judge(
            "letter, last layer: largest positional score while the symbolic one is at most .5",
            before,
            at_least(0.8),
            ".99",
        ),
        judge("letter, last layer: symbolic score at the end", after, at_least(0.9), "1.0"),
    ]
    return parts, f"Most positional (s_pos, s_sym): {'; '.join(texts)}." if texts else "No scores table."


def score_choices(tables: Tables) -> list[Choice]:
    """Other tolerances, and the other temperatures and queries that were scored."""
    if "scores" not in tables:
        return []
    taus = [tau for tau in sorted(tables["scores"]["tau"].unique()) if not isclose(tau, Choice.tau)]
    queries = [query for query in sorted(tables["scores"]["query"].unique()) if query != Choice.query]
    return vary(gamma=[0.1, 0.05], tau=taus, query=queries)


def turn_choices(tables: Tables) -> list[Choice]:
    """Other temperatures and queries: this claim names its own tolerances."""
    return [choice for choice in score_choices(tables) if choice.gamma == Choice.gamma]
