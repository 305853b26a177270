"""Claims 8 to 10: how well the constructions and the trained heads separate their slot, the bounds, and what is impossible."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from posym.claims.base import Choice, Options, Tables, of_task, vary
from posym.claims.heads import pure_layers
from posym.claims.verdicts import Estimate, Part, above, at_most, below, exact, judge, judge_exact, within

FIRST_LENGTH = 10  # of the Index fit: below it D_max is a few steps of its own
FITTED_POINTS = 40
GOLDEN_ANGLE = 2.399963229728653
ROUNDING = 1e-9


def discrepancy_decay(tables: Tables, choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 8: Index discrepancy falls like 1/n^2 and Retrieval's does not, in the constructions and in trained heads.

    Trained: the mean over number's pure positional heads, and over letter's pure symbolic ones, of the slope of log median
    discrepancy against log length at one hop's query. Limits over items average the heads' limits.
    """
    slope = _index_slope(tables, choice)
    parts = [
        judge_exact(
            f"Index, theta {choice.theta:g}: slope of log D_max against log n",
            None if slope is None else exact(slope),
            within(-2, 0.3),
            "-2",
        ),
        judge_exact(
            "Retrieval, theta 0: relative spread of D_min over lengths",
            _retrieval_spread(tables),
            at_most(ROUNDING),
            "0",
        ),
    ]
    kinds = {"number": ("positional", below(-0.5), "-2 (construction)"), "letter": ("symbolic", above(-0.5), "0")}
    used = []
    for task, (kind, threshold, theirs) in kinds.items():
        layers = pure_layers(tables, task, kind, choice)
        estimates = {}
        for seed, rows in of_task(tables, "discrepancy", task).items():
            at = rows[rows["hop"] == choice.hop].drop_duplicates("layer")
            if choice.heads == "pure":
                at = at[at["layer"].isin(layers.get(seed, set()))]
            used.append(f"{task} seed {seed}: layers {', '.join(map(str, at['layer'])) or 'none'}")
            estimates[seed] = Estimate(*(float(at[f"slope{side}"].mean()) for side in ("", "_low", "_high")))
        which = f"pure {kind} heads" if choice.heads == "pure" else "all heads"
        parts.append(
            judge(
                f"{task}: slope of the median discrepancy, mean of {which}, hop {choice.hop}",
                estimates,
                threshold,
                theirs,
            )
        )
    return parts, f"Trained heads: {'; '.join(used)}." if used else "No trained discrepancy table."


def decay_choices(tables: Tables) -> list[Choice]:
    """Other fits of the construction, other queries, all heads."""
    choices = []
    if "theory discrepancy" in tables:
        thetas = tables["theory discrepancy"].query("construction == 'index'")["theta"].unique()
        choices += vary(lengths=["all"], theta=[GOLDEN_ANGLE] if np.isclose(thetas, GOLDEN_ANGLE).any() else [])
    if "discrepancy" in tables:
        hops = sorted(int(hop) for hop in tables["discrepancy"]["hop"].unique() if hop != Choice.hop)
        choices += vary(hop=hops, heads=["all"])
    return choices


def bounds(tables: Tables, _choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 9: the printed Index bound is broken, the corrected one never, over every theta, kind of query and length."""
    rows = _theory(tables, "index")
    if rows is None:
        broken = corrected = None
        text = "No theory discrepancy table."
    else:
        ratio = (rows["maximum"] / rows["printed_bound"]).where(rows["printed_bound"] > ROUNDING)
        worst = rows.loc[ratio.idxmax()]
        broken, corrected = exact(float(ratio.max())), exact(float(rows["corrected_excess"].max()))
        text = (
            f"Largest at theta {worst['theta']:.4g}, {worst['query_kind']} query, length {worst['length']};"
            f" {int((rows['printed_excess_of_maximum'] > ROUNDING).sum())} of {len(rows)} rows are above the printed bound."
        )
    return [
        judge_exact("Index: largest D_max over the printed bound", broken, above(1 + ROUNDING), "never above 1"),
        judge_exact(
            "Index: largest excess of D_max over the corrected bound", corrected, at_most(ROUNDING), "not stated"
        ),
    ], text


def impossible(tables: Tables, _choice: Choice, _options: Options) -> tuple[list[Part], str]:
    """Claim 10: no random purely symbolic (positional) layer tells the constructed Index (Retrieval) pair apart.

    The statistic is the largest relative distance of the two outputs over all trials; the answers differ, so a layer that
    does not separate them fails on one. Its lower limit is the smallest distance.
    """
    parts, texts = [], []
    for kind, function in (("symbolic", "index"), ("positional", "retrieval")):
        estimates = None
        if "impossibility" in tables:
            rows = tables["impossibility"].query("layer_kind == @kind and function == @function and impossible")
            distance = rows["output_distance"]
            if len(distance):
                estimates = Estimate(float(distance.max()), float(distance.min()), float(distance.max()))
            texts.append(f"{kind} layers on {function}: {len(distance)} trials")
        parts.append(
            judge_exact(
                f"{kind} layers, {function}: largest relative output distance", estimates, at_most(ROUNDING), "0"
            )
        )
    return parts, f"{'; '.join(texts)}." if texts else "No impossibility table."


def _theory(tables: Tables, construction: str) -> pd.DataFrame | None:
    if "theory discrepancy" not in tables:
        return None
    rows = tables["theory discrepancy"]
    return rows[rows["construction"] == construction]


def _index_slope(tables: Tables, choice: Choice) -> float | None:
    rows = _theory(tables, "index")
    if rows is None:
        return None
    rows = rows[np.isclose(rows["theta"], choice.theta)]
    largest = rows.groupby("length")["maximum"].max()  # D_max: over the kinds of query too
    largest = largest[(largest.index >= FIRST_LENGTH) & (largest > 0)]
    if len(largest) < 2:
        return None
    lengths: NDArray[np.int64] = largest.index.to_numpy()
    if choice.lengths == "log":
        even = np.geomspace(lengths.min(), lengths.max(), FITTED_POINTS).round().astype(np.int64)
        lengths = np.intersect1d(even, lengths)
    return float(np.polyfit(np.log(lengths), np.log(largest.loc[lengths].to_numpy()), 1)[0])


def _retrieval_spread(tables: Tables) -> Estimate | None:
    rows = _theory(tables, "retrieval")
    if rows is None:
        return None
    level = rows[(rows["theta"] == 0) & (rows["query_kind"] == "pair")]
    level = level[level["length"] > level["length"].min() + 1]  # two tokens have no worst neighbour yet
    spread = level.groupby("alphabet")["minimum"].agg(lambda part: np.ptp(part) / part.mean())
    return exact(float(spread.max())) if len(spread) else None
