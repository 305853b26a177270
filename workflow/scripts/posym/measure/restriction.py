"""Two causal questions on long inputs: which RoPE planes, and which head's attention, cost the accuracy.

`planes-high` and `planes-low` leave every query of all layers only its fast planes (the first half of the ids) or only its slow
ones at test time; `planes-high-layer-L` and `planes-low-layer-L` do so in one layer. A logit is a sum over planes, so
taking a plane from the query takes it from the logit.
`oracle-layer-L` freezes one layer's attention to its oracle slots: those where the same head looks in the same core
without the extra tokens, with the same weights, and nothing on the extra tokens. `oracle-all` does so in every layer,
`oracle-all-but-layer-L` in all but one: a layer whose failure costs the accuracy gains as the first and loses as the last.
`none` is the model as it is.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from posym.measure.attention import hop_classes
from posym.measure.bootstrap import share_interval
from posym.model import Intervene, Parameters, Place, Prefix, answer_logits, as_planes, prefix_of, untouched
from posym.tasks.base import Array

NONE = "none"
Interventions = dict[str, tuple[frozenset[int], str]]  # name: layers it changes, and `high`, `low`, `oracle` or `none`


def interventions(layers: int) -> Interventions:
    """All interventions on a model of that many layers, by name."""
    everywhere = frozenset(range(layers))
    made: Interventions = {NONE: (frozenset(), NONE)}
    for planes in ("high", "low"):
        made[f"planes-{planes}"] = (everywhere, planes)
        made |= {f"planes-{planes}-layer-{layer}": (frozenset({layer}), planes) for layer in range(layers)}
    made["oracle-all"] = (everywhere, "oracle")
    made |= {f"oracle-layer-{layer}": (frozenset({layer}), "oracle") for layer in range(layers)}
    if layers > 1:
        made |= {f"oracle-all-but-layer-{layer}": (everywhere - {layer}, "oracle") for layer in range(layers)}
    return made


def only_planes(layers: frozenset[int], which: str) -> Intervene:
    """Queries of `layers` keep their `high` (first half of the ids) or `low` (second half) frequencies."""

    def change(layer: int, place: Place, tensor: Tensor) -> Tensor:
        if place != "query" or layer not in layers:
            return tensor
        kept = as_planes(tensor).clone()
        half = kept.shape[-1] // 2
        kept[..., slice(half, None) if which == "high" else slice(half)] = 0
        return torch.view_as_real(kept).flatten(-2)

    return change


def frozen_attention(layers: frozenset[int], weights: list[Tensor]) -> Intervene:
    """Attention of `layers` is `weights` [layer][batch, slot, core slot] on the core and 0 on everything before it."""

    def change(layer: int, place: Place, tensor: Tensor) -> Tensor:
        if place != "attention" or layer not in layers:
            return tensor
        frozen = torch.zeros_like(tensor)
        frozen[..., tensor.shape[-1] - weights[layer].shape[-1] :] = weights[layer]
        return frozen

    return change


def attention_weights(parameters: Parameters, tokens: Tensor) -> list[Tensor]:
    """Per layer the attention [batch, slot, slot]; the last layer's has the last query only."""
    found: list[Tensor] = []

    def record(_layer: int, place: Place, tensor: Tensor) -> Tensor:
        if place == "attention":
            found.append(tensor)
        return tensor

    answer_logits(parameters, tokens, intervene=record)
    return found


@torch.inference_mode()
def restricted_answers(
    parameters: Parameters, tokens: Array, answer: Array, extra: int, prefix: Array, batch_tokens: int
) -> dict[str, NDArray[np.bool_]]:
    """Whether each item [item] is answered correctly under each intervention.

    tokens [item, extra + core]; items of one `prefix` [item] share their extra tokens, equally many items each.
    `batch_tokens` bounds the distinct tokens run at once.
    """
    order = np.argsort(prefix, kind="stable")
    size = len(order) // len(np.unique(prefix))
    core = tokens.shape[1] - extra
    at_once = size * max(1, batch_tokens // (extra + size * core))
    made = interventions(parameters.shape.layers)
    correct = {name: np.empty(len(answer), dtype=bool) for name in made}
    for start in range(0, len(order), at_once):
        rows = order[start : start + at_once]
        batch = torch.from_numpy(tokens[rows]).to(parameters.flat.device)
        wanted = torch.from_numpy(answer[rows]).to(batch.device)
        before, own = batch[::size, :extra], batch[:, extra:]
        plain = prefix_of(parameters, before) if extra else None
        weights = attention_weights(parameters, own)
        for name, (layers, what) in made.items():
            change: Intervene = untouched
            shared = plain
            if what == "oracle":
                change = frozen_attention(layers, weights)
            elif what != NONE:
                change = only_planes(layers, what)
                shared = _prefix(parameters, before, change)
            logits = answer_logits(parameters, own, shared, intervene=change)
            correct[name][rows] = (logits.argmax(-1) == wanted).cpu().numpy()
    return correct


def _prefix(parameters: Parameters, tokens: Tensor, change: Intervene) -> Prefix | None:
    return prefix_of(parameters, tokens, change) if tokens.shape[1] else None


def restriction_rows(
    extra: int, hops: Array, prefix: Array, correct: dict[str, NDArray[np.bool_]], samples: int, seed: int
) -> list[dict[str, object]]:
    """Rows of restriction.parquet at one length: every intervention and hop class, 0 for all items; limits by prefix."""
    rows: list[dict[str, object]] = []
    for name, right in correct.items():
        for wanted, chosen in hop_classes(hops):
            low, high = share_interval(right[chosen], prefix[chosen], samples, seed)
            rows.append(
                {
                    "intervention": name,
                    "extra": extra,
                    "hops": wanted,
                    "accuracy": float(right[chosen].mean()),
                    "low": low,
                    "high": high,
                    "baseline": float(correct[NONE][chosen].mean()),
                    "items": len(chosen),
                }
            )
    return rows
