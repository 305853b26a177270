"""Taking heads out: accuracy by hop when the output of a layer's head, in front of `out_proj`, is replaced at every slot.

`zero` puts zeros there, `mean` the mean over the measured items at the same slot, `resample` the output at the same slot in
another of the items, drawn once. The last two keep the output where later layers are used to it, so that a loss is the
loss of what the head says about this input. MLPs, residual stream and the other heads go on as they are.
"""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from posym.measure.attention import hop_classes
from posym.measure.bootstrap import mean_interval, resampling_weights, share_interval
from posym.model import Intervene, Parameters, Place, answer_logits
from posym.tasks.base import Array, Sequences

BATCH_ITEMS = 256
Kind = Literal["zero", "mean", "resample"]
Layers = tuple[int, ...]


def layer_sets(layers: int, pairs: bool) -> list[Layers]:
    """What is taken out at once: each layer; with `pairs`, every two; all up to each layer, and all from each layer on.

    The last two say what a block of layers carries whose heads stand in for each other.
    """
    singles = [(layer,) for layer in range(layers)]
    two = list(combinations(range(layers), 2)) if pairs else []
    up_to = [tuple(range(layer + 1)) for layer in range(layers)]
    from_here = [tuple(range(layer, layers)) for layer in range(layers)]
    return list(dict.fromkeys([*singles, *two, *up_to, *from_here]))


@torch.inference_mode()
def head_outputs(parameters: Parameters, tokens: Tensor) -> list[Tensor]:
    """Per layer what the head hands to `out_proj` [item, slot, hidden]; the last layer has the last slot only."""
    found: list[list[Tensor]] = [[] for _ in range(parameters.shape.layers)]

    def record(layer: int, place: Place, tensor: Tensor) -> Tensor:
        if place == "head":
            found[layer].append(tensor)
        return tensor

    for batch in tokens.split(BATCH_ITEMS):
        answer_logits(parameters, batch, intervene=record)
    return [torch.cat(parts) for parts in found]


def replacements(outputs: list[Tensor], kind: Kind, seed: int) -> list[Tensor]:
    """What stands in for the heads' outputs: per layer [item, slot, hidden].

    `resample` gives every item another one's output, the same other item in every layer.
    """
    if kind == "zero":
        return [torch.zeros_like(output) for output in outputs]
    if kind == "mean":
        return [output.mean(dim=0, keepdim=True).expand_as(output) for output in outputs]
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(outputs[0])))
    other = torch.empty_like(order)
    other[order] = order.roll(1)  # one cycle through all items, so that none gets its own
    return [output[other.to(output.device)] for output in outputs]


@torch.inference_mode()
def answers_without(
    parameters: Parameters, tokens: Tensor, answer: Tensor, layers: Layers, instead: list[Tensor]
) -> NDArray[np.bool_]:
    """Whether each item [item] is answered correctly when the heads of `layers` say what `instead` holds for it."""
    correct = []
    for start in range(0, len(tokens), BATCH_ITEMS):
        rows = slice(start, start + BATCH_ITEMS)
        logits = answer_logits(parameters, tokens[rows], intervene=_replace(layers, [part[rows] for part in instead]))
        correct.append(logits.argmax(-1) == answer[rows])
    return torch.cat(correct).cpu().numpy()


def _replace(layers: Layers, instead: list[Tensor]) -> Intervene:
    def change(layer: int, place: Place, tensor: Tensor) -> Tensor:
        return instead[layer] if place == "head" and layer in layers else tensor

    return change


def ablate(
    parameters: Parameters, items: Sequences, kinds: list[Kind], pairs_of: list[Kind], samples: int, seed: int
) -> list[dict[str, object]]:
    """Rows of ablation.parquet: every kind of replacement on every set of `layer_sets`, pairs for `pairs_of`.

    `low` and `high` are limits of `accuracy`; `cost` is baseline minus accuracy, paired by item, with its own limits.
    """
    device = parameters.flat.device
    tokens, answer = (torch.from_numpy(part).to(device) for part in (items.tokens, items.answer))
    outputs = head_outputs(parameters, tokens)
    baseline = answers_without(parameters, tokens, answer, (), outputs)
    rows: list[dict[str, object]] = []
    for kind in kinds:
        instead = replacements(outputs, kind, seed)
        for layers in layer_sets(parameters.shape.layers, kind in pairs_of):
            correct = answers_without(parameters, tokens, answer, layers, instead)
            rows += ablation_rows(kind, layers, items.hops, baseline, correct, samples, seed)
    return rows


def ablation_rows(
    kind: Kind,
    layers: Layers,
    hops: Array,
    baseline: NDArray[np.bool_],
    correct: NDArray[np.bool_],
    samples: int,
    seed: int,
) -> list[dict[str, object]]:
    """Rows for one intervention: every hop class, and 0 for all items."""
    rows: list[dict[str, object]] = []
    lost = baseline.astype(np.float64) - correct
    for wanted, chosen in hop_classes(hops):
        low, high = share_interval(correct[chosen], chosen, samples, seed)
        cost_low, cost_high = mean_interval(lost[chosen], resampling_weights(chosen, samples, seed))
        rows.append(
            {
                "intervention": kind,
                "layers": list(layers),
                "hops": wanted,
                "accuracy": float(correct[chosen].mean()),
                "low": low,
                "high": high,
                "baseline": float(baseline[chosen].mean()),
                "cost": float(lost[chosen].mean()),
                "cost_low": float(cost_low),
                "cost_high": float(cost_high),
                "items": len(chosen),
            }
        )
    return rows
