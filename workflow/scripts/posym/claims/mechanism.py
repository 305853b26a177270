"""Claims 11 and 12: which RoPE frequencies the two kinds of heads use, and what breaks without a head."""

from __future__ import annotations

import numpy as np
import pandas as pd

from posym.claims.base import TASKS, Choice, Options, Tables, last_step, of_task, vary
from posym.claims.heads import pure_layers, score_choices
from posym.claims.verdicts import Estimate, Part, at_least, at_most, judge, t_interval

NOT_A_TASKS_WORK = ("none", "reflexive")


def frequencies(tables: Tables, choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 11: mean plane id, weighted by use, of pure positional heads and of pure symbolic ones.

    The tables have no interval over items: with one or two seeds it is the t-interval over the heads of a seed.
    """
    parts, texts = [], []
    wanted = (
        ("number", "positional", at_most(10), "1 to 2"),
        ("number", "symbolic", at_least(30), "37 to 39"),
        ("letter", "symbolic", at_least(30), "32 to 42"),
    )
    for task, kind, threshold, theirs in wanted:
        layers = pure_layers(tables, task, kind, choice)
        estimates = {}
        for seed, rows in of_task(tables, "frequencies", task).items():
            at = rows[rows["query"] == choice.query].drop_duplicates("layer")
            at = at[at["layer"].isin(layers.get(seed, set()))]
            estimates[seed] = _over_heads(at["mean_plane"])
            texts.append(
                f"{task} seed {seed} {kind}: {', '.join(f'{plane:.1f}' for plane in at['mean_plane']) or 'none'}"
            )
        parts.append(judge(f"{task}: mean plane id of pure {kind} heads (1 to 64)", estimates, threshold, theirs))
    flat = "a flat profile would give 32.5 with 64 planes, so a mean of 30 or more says little by itself"
    return parts, f"By layer: {'; '.join(texts)}; {flat}." if texts else "No frequencies table."


def frequency_choices(tables: Tables) -> list[Choice]:
    """Other tolerances, temperatures and queries of the head score."""
    return score_choices(tables) if "frequencies" in tables else []


def ablation(tables: Tables, choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 12: without a head that is named for hop h, accuracy on inputs with h hops or more falls.

    A head is named for the hop at whose query most of its attention goes where the task's function points
    (functions.parquet, last checkpoint). Its cost is the accuracy lost on those inputs; limits over items average those of
    the hop classes, so they are wider than 95 %.
    """
    parts, texts = [], []
    for task in TASKS:
        named = of_task(tables, "functions", task)
        estimates = {}
        for seed, rows in of_task(tables, "ablation", task).items():
            if seed not in named:
                continue
            heads = _named(named[seed])
            costs = [_cost(rows, layer, hop, choice.intervention) for layer, hop in heads]
            texts.append(f"{task} seed {seed}: {len(heads)} heads named")
            estimates[seed] = _summary(costs, choice.summary)
        parts.append(
            judge(
                f"{task}: accuracy lost by {choice.intervention} ablation of a head named for hop h on inputs of h or more"
                f" hops, {choice.summary} over named heads",
                estimates,
                at_least(0.3),
                "not measured",
            )
        )
    return parts, f"{'; '.join(texts)}." if texts else "No ablation table."


def ablation_choices(tables: Tables) -> list[Choice]:
    """The other ablations, and the costliest and least costly head in place of the mean."""
    if "ablation" not in tables:
        return []
    kinds = [kind for kind in tables["ablation"]["intervention"].unique() if kind != Choice.intervention]
    return vary(summary=["largest", "smallest"], intervention=sorted(kinds))


def _over_heads(values: pd.Series) -> Estimate:
    if len(values) < 2:
        return Estimate(float(values.mean()))
    return Estimate(float(values.mean()), *t_interval(values))


def _named(functions: pd.DataFrame) -> list[tuple[int, int]]:
    """(layer, hop) of every head that does a step of the task at a hop's query, at the last checkpoint."""
    rows = last_step(functions[functions["hops"] == 0])
    rows = rows[~rows["head_function"].isin(NOT_A_TASKS_WORK)]
    return sorted({(int(layer), int(hop)) for layer, hop in zip(rows["layer"], rows["hop"], strict=True)})


def _cost(ablation_rows: pd.DataFrame, layer: int, hop: int, intervention: str) -> Estimate:
    one = ablation_rows["layers"].map(lambda layers: list(layers) == [layer])
    rows = ablation_rows[one & (ablation_rows["intervention"] == intervention) & (ablation_rows["hops"] >= hop)]
    return Estimate(*(float(np.average(rows[f"cost{side}"], weights=rows["items"])) for side in ("", "_low", "_high")))


def _summary(costs: list[Estimate], summary: str) -> Estimate:
    if not costs:
        return Estimate(float("nan"))
    if summary == "mean":
        return Estimate(*(float(np.mean([getattr(one, name) for one in costs])) for name in ("value", "low", "high")))
    pick = max if summary == "largest" else min
    return pick(costs, key=lambda one: one.value)
