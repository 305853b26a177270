"""Tables of an imaginary run, as simple as they can be, that a test bends until a claim says what it should."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from posym import paper
from posym.claims.base import Tables

STEPS = np.arange(0, 1001, 50)
LAYERS = 12
SEEDS = (0, 1, 2)
ITEMS = 400
Learned = Callable[[str, int, int], float]  # task, seed, hop -> first step that is answered


def over(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True)


def accuracy(
    learned: Learned, seeds: Sequence[int] = SEEDS, items: int = ITEMS, end: float = 1.0, before: float = 0.12
) -> pd.DataFrame:
    """Every hop class jumps from `before` to `end` at its own step; hops 0 is their mean."""
    rows = []
    for task in ("number", "letter"):
        for seed in seeds:
            for step in STEPS:
                shares = {hop: end if step >= learned(task, seed, hop) else before for hop in (1, 2, 3, 4)}
                shares[0] = float(np.mean(list(shares.values())))
                for hop, share in shares.items():
                    count = items if hop else 4 * items
                    correct = round(share * count)
                    rows.append((task, seed, step, hop, correct / count, correct, count))
    return pd.DataFrame(rows, columns=["task", "seed", "step", "hops", "accuracy", "correct", "items"])


def as_in_the_paper(task: str, seed: int, hop: int) -> float:
    """Number: hops at 300, 450, 600, 650 (a little later for later seeds); letter: all at 400."""
    return (300, 450, 600, 650)[hop - 1] + 50 * seed if task == "number" else 400


Kinds = Callable[[str, int, int], tuple[str, float]]  # task, seed, layer -> kind and step from which it has it


def kinds_as_in_the_paper(task: str, seed: int, layer: int) -> tuple[str, float]:
    """Number: layers 1 to 3 positional at 300, 450, 600, 5 to 11 symbolic at 650; letter: 1 to 11 symbolic at 400."""
    if task == "letter":
        return ("symbolic", 400) if layer else ("neither", 0)
    if 1 <= layer <= 3:
        return "positional", (300, 450, 600)[layer - 1] + 50 * seed
    return ("symbolic", 650 + 50 * seed) if layer >= 5 else ("neither", 0)


SCORES = {"positional": (0.98, 0.02), "symbolic": (0.03, 0.99), "neither": (0.5, 0.6), "start": (1.0, 1.0)}


def scores(
    kinds: Kinds, seeds: Sequence[int] = SEEDS, margin: float = 0.01, last_layer: tuple[float, float] = (0.95, 0.2)
) -> pd.DataFrame:
    """Every head scores (1, 1) until its step and as its kind from there on.

    `last_layer` is what letter's last one scores halfway to its step.
    """
    rows = []
    for task in ("number", "letter"):
        for seed in seeds:
            for layer in range(LAYERS):
                kind, first = kinds(task, seed, layer)
                for step in STEPS:
                    positional, symbolic = SCORES[kind] if step >= first else SCORES["start"]
                    if task == "letter" and layer == LAYERS - 1 and first / 2 <= step < first:
                        positional, symbolic = last_layer
                    rows.append((task, seed, step, layer, positional, symbolic))
    table = pd.DataFrame(rows, columns=["task", "seed", "step", "layer", "positional", "symbolic"])
    for name in ("positional", "symbolic"):
        table[f"{name}_low"] = (table[name] - margin).clip(lower=0)
        table[f"{name}_high"] = (table[name] + margin).clip(upper=1)
    table = table.assign(head=0, query="last", tau=1e-4, hops=0, items=ITEMS)
    return over([table, table.assign(tau=1e-3), table.assign(query="hop-2")])


def extrapolation(shift: dict[str, float], seeds: Sequence[int] = SEEDS, margin: float = 0.02) -> pd.DataFrame:
    """The paper's curves, moved by `shift`; at 850 tokens .89 and .23, moved too."""
    rows = []
    quoted = {"letter": 0.89, "number": 0.23}
    for task, curve in paper.LENGTH_CURVES.items():
        for extra, share in {**curve, 833: quoted[task]}.items():
            for seed in seeds:
                moved = float(np.clip(share + shift.get(task, 0.0) + 0.001 * seed, 0, 1))
                rows.append(
                    (task, seed, 1000, extra, extra + 17, moved, max(0, moved - margin), min(1, moved + margin))
                )
    table = pd.DataFrame(rows, columns=["task", "seed", "step", "extra", "length", "accuracy", "low", "high"])
    return table.assign(hops=0)


def trained_discrepancy(slopes: dict[str, float], seeds: Sequence[int] = SEEDS, margin: float = 0.05) -> pd.DataFrame:
    rows = [
        (task, seed, layer, hop, slope + 0.01 * seed)
        for task, slope in slopes.items()
        for seed in seeds
        for layer in range(LAYERS)
        for hop in (1, 2)
    ]
    table = pd.DataFrame(rows, columns=["task", "seed", "layer", "hop", "slope"])
    return table.assign(length=17, slope_low=table.slope - margin, slope_high=table.slope + margin)


def theory_discrepancy(
    exponent: float = -2.0, excess: float = 0.0, printed: float = 0.5, drift: float = 0.0
) -> pd.DataFrame:
    """D_max of Index as n ** exponent; its printed bound is `printed` times that, the corrected one `excess` below it.

    Retrieval's D_min at theta 0 grows by `drift` a token.
    """
    length = np.arange(2, 401)
    largest = 3.0 * length**exponent
    index = pd.DataFrame({"length": length, "maximum": largest, "minimum": 0.0, "printed_bound": printed * largest})
    index["printed_excess_of_maximum"] = index["maximum"] - index["printed_bound"]
    index = index.assign(construction="index", theta=0.8, alphabet=0, query_kind="integer", corrected_excess=excess)
    retrieval = pd.DataFrame({"length": length, "maximum": 2.0, "minimum": 0.3 + drift * length, "printed_bound": 0.3})
    retrieval = retrieval.assign(
        printed_excess_of_maximum=1.7,
        construction="retrieval",
        theta=0.0,
        alphabet=8,
        query_kind="pair",
        corrected_excess=0.0,
    )
    return over([index, retrieval])


def impossibility(distances: dict[str, Sequence[float]]) -> pd.DataFrame:
    """Trials of both impossible pairs, by kind of layer, and of a possible one that separates them."""
    function = {"symbolic": "index", "positional": "retrieval"}
    rows = [(kind, function[kind], distance, True) for kind, found in distances.items() for distance in found]
    rows += [("symbolic", "retrieval", 1.2, False)]
    return pd.DataFrame(rows, columns=["layer_kind", "function", "output_distance", "impossible"])


def frequencies(planes: dict[tuple[str, str], float], kinds: Kinds, seeds: Sequence[int] = SEEDS) -> pd.DataFrame:
    """`planes` by task and kind of head; its heads differ by .1 from one to the next."""
    rows = [
        (task, seed, layer, "last", planes.get((task, kinds(task, seed, layer)[0]), 20.0) + 0.1 * layer + 0.01 * seed)
        for task in ("number", "letter")
        for seed in seeds
        for layer in range(LAYERS)
    ]
    return pd.DataFrame(rows, columns=["task", "seed", "layer", "query", "mean_plane"])


def functions(seeds: Sequence[int] = SEEDS) -> pd.DataFrame:
    """Layer k is named for hop k, up to 4; the others for nothing."""
    rows = [
        (task, seed, 1000, layer, hop, 0, name if layer == hop else "none")
        for task, name in (("number", "index"), ("letter", "retrieval"))
        for seed in seeds
        for layer in range(LAYERS)
        for hop in (1, 2, 3, 4)
    ]
    return pd.DataFrame(rows, columns=["task", "seed", "step", "layer", "hop", "hops", "head_function"])


def ablation(costs: Callable[[int], float], seeds: Sequence[int] = SEEDS, margin: float = 0.02) -> pd.DataFrame:
    """What each layer's ablation costs on every hop class that it is named for, and nothing on the ones with fewer hops."""
    rows = [
        (task, seed, kind, [layer], hops, costs(layer) if hops >= layer else 0.0, 100)
        for task in ("number", "letter")
        for seed in seeds
        for kind in ("mean", "resample")
        for layer in range(LAYERS)
        for hops in (0, 1, 2, 3, 4)
    ]
    table = pd.DataFrame(rows, columns=["task", "seed", "intervention", "layers", "hops", "cost", "items"])
    return table.assign(cost_low=table.cost - margin, cost_high=table.cost + margin)


def games(shares: dict[str, float], runs: int = 5, items: int = 100, entry: float = 1.0) -> pd.DataFrame:
    rows = [
        ("a-model", task, run, length, "reply", round(share * items), items)
        for task, at_32 in shares.items()
        for run in range(runs)
        for length, share in ((16, entry if task == "letter" else 1.0), (32, at_32))
    ]
    return pd.DataFrame(rows, columns=["model", "task", "run", "length", "method", "correct", "items"])


def everything() -> Tables:
    """A run in which every claim is reproduced."""
    return {
        "accuracy": accuracy(as_in_the_paper),
        "scores": scores(kinds_as_in_the_paper),
        "extrapolation": extrapolation({}),
        "discrepancy": trained_discrepancy({"number": -1.9, "letter": 0.0}),
        "theory discrepancy": theory_discrepancy(),
        "impossibility": impossibility({"symbolic": [0, 1e-15], "positional": [0, 2e-16]}),
        "frequencies": frequencies(
            {("number", "positional"): 2.0, ("number", "symbolic"): 37.0, ("letter", "symbolic"): 38.0},
            kinds_as_in_the_paper,
        ),
        "functions": functions(),
        "ablation": ablation(lambda _layer: 0.5),
        "games": games({"number": 0.2, "letter": 0.97}),
    }
