"""What each head computes: its attention mass on the slots that Index, Retrieval and Reflexive name (paper section 4).

The mass is read at the query of each hop. Index is defined for the number task, Retrieval for the letter task, Reflexive for
both (`Task.named_slots`); at a query on the path Index or Retrieval names the next slot of the path. A head need not go one
hop at a time, so the slots that a function names when applied again count as functions of their own: `index-2` is two hops
on, and so on. A query at which a function names no slot does not count for it, and one without any query has no rows.

A model resolves a chain from the answer's end: a layer can only pass the answer on to the slot whose next slot holds it
already. So what a head does for hop k of an item with h hops is read best against h - k, the hops between the slot that
hop k reaches and the answer; `hops` keeps the classes apart for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from posym.measure.attention import head_logits, hop_classes, hop_queries
from posym.measure.bootstrap import mean_interval, resampling_weights
from posym.model import LayerView, Parameters, answer_logits
from posym.tasks.base import NO_SLOT, Array, Sequences

BATCH_ITEMS = 256
NO_FUNCTION = "none"


@dataclass(frozen=True)
class HopMasses:
    """Masses at hop k's query: per function [item, layer], NaN where it names no slot; `uniform` [item], 1 / slots in view."""

    rows: Array
    masses: dict[str, NDArray[np.float64]]
    uniform: NDArray[np.float64]


@torch.inference_mode()
def function_masses(parameters: Parameters, items: Sequences, named: dict[str, Array]) -> dict[int, HopMasses]:
    """Per hop k, the attention from its query on the slot that each function names there; `named` as by `with_powers`."""
    device, layers = parameters.flat.device, parameters.shape.layers
    found: dict[int, HopMasses] = {}
    for hop in range(1, int(items.hops.max()) + 1):
        rows, slots = hop_queries(items, hop)
        empty = {function: np.full((len(rows), layers), np.nan) for function in named}
        found[hop] = HopMasses(rows, empty, 1 / (slots + 1))
    for start in range(0, len(items), BATCH_ITEMS):
        batch = items[slice(start, start + BATCH_ITEMS)]

        def observe(view: LayerView, batch: Sequences = batch, start: int = start) -> None:
            for hop, into in found.items():
                rows, slots = hop_queries(batch, hop)
                if not rows.size:
                    continue
                attention = head_logits(view, rows, slots).softmax(-1).double().cpu().numpy()
                places = np.searchsorted(into.rows, start + rows)
                for function, names in named.items():
                    slot = names[start + rows, slots]
                    mass = attention[np.arange(len(rows)), slot]
                    into.masses[function][places, view.layer] = np.where(slot == NO_SLOT, np.nan, mass)

        answer_logits(parameters, torch.from_numpy(batch.tokens).to(device), observe=observe)
    return found


def with_powers(named: dict[str, Array], times: int) -> dict[str, Array]:
    """`Task.named_slots` [row, slot] with every function but Reflexive also applied 2 .. `times` times: `index-2` and so on."""
    made = dict(named)
    for function, once in named.items():
        if function == "reflexive":
            continue
        reached = once
        for power in range(2, times + 1):
            further = np.take_along_axis(once, np.maximum(reached, 0), axis=1)
            reached = np.where(reached == NO_SLOT, NO_SLOT, further)
            made[f"{function}-{power}"] = reached
    return made


def head_function(masses: dict[str, float], threshold: float) -> str:
    """The function of a head at one query: the one whose mean mass is at least `threshold`, else `none`.

    The functions of a task name different slots at a query of the path, so above one half at most one can pass.
    """
    best = max(masses, key=lambda function: masses[function], default=NO_FUNCTION)
    return best if best in masses and masses[best] >= threshold else NO_FUNCTION


def function_rows(
    step: int, found: dict[int, HopMasses], hops: Array, threshold: float, samples: int, seed: int
) -> list[dict[str, object]]:
    """Rows of functions.parquet for one checkpoint: means over items with 95 % bootstrap limits from `samples` resamplings."""
    rows: list[dict[str, object]] = []
    for hop, at in found.items():
        for wanted, chosen in hop_classes(hops[at.rows]):
            summaries = {}
            for function, masses in at.masses.items():
                defined = chosen[~np.isnan(masses[chosen, 0])]
                if defined.size:
                    limits = mean_interval(masses[defined], resampling_weights(defined, samples, seed))
                    summaries[function] = (masses[defined].mean(axis=0), *limits, defined)
            for layer in range(next(iter(at.masses.values())).shape[1]):
                given = head_function({name: float(one[0][layer]) for name, one in summaries.items()}, threshold)
                for function, (mean, low, high, defined) in summaries.items():
                    rows.append(
                        {
                            "step": step,
                            "layer": layer,
                            "head": 0,
                            "function": function,
                            "hop": hop,
                            "hops": wanted,
                            "mass": mean[layer],
                            "low": low[layer],
                            "high": high[layer],
                            "uniform": float(at.uniform[defined].mean()),
                            "head_function": given,
                            "items": len(defined),
                        }
                    )
    return rows
