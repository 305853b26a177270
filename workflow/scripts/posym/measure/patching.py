"""Activation patching between an input and its minimal counterfactual: which layer carries which hop.

The counterfactual of hop k is the same input with one other token at path[k - 1], hop k's query: another offset or pair, so
that the first k - 1 hops stay and the answer changes. It runs with one activation of the original put in. The `effect` is
the share of the difference between the two answers' logits that this restores: 0 nothing, 1 all of it.
What is put in: the `residual` stream that enters a layer, or the output of its `head`, at path[slot], slot 0 being the
last token. Hop k's information starts at path[k - 1] and must be at path[0] in the end: the layer at which the residual's
effect leaves path[j] for path[j - 1] is the one that carries hop j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from posym.errors import InputError
from posym.measure.bootstrap import LEVEL, Values, resampling_weights
from posym.model import Intervene, Parameters, Place, answer_logits
from posym.tasks.base import Array, Sequences, Task

BATCH_ITEMS = 256
COMPONENTS: tuple[Place, ...] = ("residual", "head")


@dataclass(frozen=True)
class Pairs:
    """Originals and, row by row, their counterfactuals [item, slot] with the answers those have [item]."""

    originals: Sequences
    tokens: Array
    answer: Array


def counterfactual(
    task: Task, tokens: Array, path: Array, hop: int, random: np.random.Generator
) -> tuple[Array, int] | None:
    """One other token at path[hop - 1] that changes the answer and leaves the hops before it: (tokens, answer), or None.

    `path` [hops + 1] is the input's own, without padding. A token that keeps the number of hops is preferred; among equals
    one is drawn.
    """
    kept: list[tuple[Array, int]] = []
    others: list[tuple[Array, int]] = []
    answer = tokens[path[-1]]
    for token in range(len(task.vocabulary.tokens)):
        changed = tokens.copy()
        changed[path[hop - 1]] = token
        try:
            found = task.solve(changed)
        except InputError:
            continue
        if found.answer != answer and hop <= found.hops <= task.hops and found.path[:hop] == tuple(path[:hop]):
            (kept if found.hops == len(path) - 1 else others).append((changed, found.answer))
    choice = kept or others
    return choice[random.integers(len(choice))] if choice else None


def counterfactual_pairs(task: Task, test: Sequences, hops: int, hop: int, items: int, seed: int) -> Pairs:
    """The first `items` test sequences of `hops` hops that have a counterfactual of `hop`, with it; fewer where none are left."""
    random = np.random.default_rng([seed, hops, hop])
    rows, changed, answers = [], [], []
    for row in np.flatnonzero(test.hops == hops):
        found = counterfactual(task, test.tokens[row], test.path[row, : hops + 1], hop, random)
        if found is not None:
            rows.append(row)
            changed.append(found[0])
            answers.append(found[1])
        if len(rows) == items:
            break
    if not rows:
        raise InputError(
            f"task {task.name}: no test sequence of {hops} hops has a counterfactual of hop {hop}: raise datasets.test"
        )
    return Pairs(test[np.array(rows)], np.array(changed), np.array(answers))


@torch.inference_mode()
def patched_differences(
    parameters: Parameters, pairs: Pairs, hop: int
) -> tuple[Tensor, Tensor, dict[tuple[Place, int, int], Tensor]]:
    """Logit of the original's answer minus that of the counterfactual's [item]: original run, counterfactual run, patched.

    The patched ones by (component, layer, j) for path[j], j < hop: no earlier slot of the path differs.
    """
    device, layers = parameters.flat.device, parameters.shape.layers
    first: list[Tensor] = []
    second: list[Tensor] = []
    patched: dict[tuple[Place, int, int], list[Tensor]] = {}
    for start in range(0, len(pairs.answer), BATCH_ITEMS):
        rows = slice(start, start + BATCH_ITEMS)
        original = pairs.originals[rows]
        clean, changed = (torch.from_numpy(part).to(device) for part in (original.tokens, pairs.tokens[rows]))
        answers = torch.from_numpy(np.stack([original.answer, pairs.answer[rows]], axis=1)).to(device)

        def difference(logits: Tensor, answers: Tensor = answers) -> Tensor:
            both = logits.gather(1, answers)
            return (both[:, 0] - both[:, 1]).double().cpu()

        kept: dict[tuple[Place, int], Tensor] = {}
        first.append(difference(answer_logits(parameters, clean, intervene=_record(kept))))
        second.append(difference(answer_logits(parameters, changed)))
        for component in COMPONENTS:
            for layer in range(layers):
                for j in range(hop):
                    if component == "head" and layer == layers - 1 and j:
                        result = second[-1]  # the last layer's head speaks at the last slot only
                    else:
                        slot = torch.from_numpy(original.path[:, j]).to(device)
                        change = _put_in(component, layer, kept[component, layer], slot)
                        result = difference(answer_logits(parameters, changed, intervene=change))
                    patched.setdefault((component, layer, j), []).append(result)
    return torch.cat(first), torch.cat(second), {place: torch.cat(parts) for place, parts in patched.items()}


def _record(into: dict[tuple[Place, int], Tensor]) -> Intervene:
    def keep(layer: int, place: Place, tensor: Tensor) -> Tensor:
        if place in COMPONENTS:
            into[place, layer] = tensor
        return tensor

    return keep


def _put_in(component: Place, layer: int, original: Tensor, slot: Tensor) -> Intervene:
    def change(at: int, place: Place, tensor: Tensor) -> Tensor:
        if place != component or at != layer:
            return tensor
        rows = torch.arange(len(slot), device=slot.device)
        # The last layer's head has the last slot only, where path[0] stands.
        where = slot.clamp(max=tensor.shape[1] - 1)
        mixed = tensor.clone()
        mixed[rows, where] = original[rows, where]
        return mixed

    return change


def effect_interval(clean: Values, changed: Values, patched: Values, weights: Values) -> tuple[float, float, float]:
    """Share restored (mean, low, high): ratio of means over items, resampled by `weights` [sample, item]."""
    restored, whole = patched - changed, clean - changed
    low, high = np.quantile((weights @ restored) / (weights @ whole), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(restored.mean() / whole.mean()), float(low), float(high)


def patching_rows(
    hops: int,
    hop: int,
    clean: Tensor,
    changed: Tensor,
    patched: dict[tuple[Place, int, int], Tensor],
    samples: int,
    seed: int,
) -> list[dict[str, object]]:
    """Rows of patching.parquet for the counterfactuals of one hop in one class of `hops`."""
    weights = resampling_weights(np.arange(len(clean)), samples, seed)
    rows: list[dict[str, object]] = []
    for (component, layer, slot), values in patched.items():
        effect, low, high = effect_interval(clean.numpy(), changed.numpy(), values.numpy(), weights)
        rows.append(
            {
                "component": component,
                "layer": layer,
                "slot": slot,
                "hop": hop,
                "hops": hops,
                "effect": effect,
                "low": low,
                "high": high,
                "difference": float((clean - changed).mean()),
                "items": len(clean),
            }
        )
    return rows
