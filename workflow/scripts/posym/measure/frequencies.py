"""Which RoPE planes a head uses: each plane's part of the logit, Table 1's mean plane, and the swap score plane by plane.

A head's logit is a sum over planes. Two summaries of a plane's part at a query, both means over items:
`use`, its largest logit over the slots in view, floored at 0 (Table 1: "the largest logit of a plane"), whose weighted
mean of plane ids is the layer's; and `contrast`, its part of the logit of the slot that the whole head gives most,
minus the mean of its parts over the slots in view, which adds up to what decides the head's softmax. `use` counts planes
that give the same logit to every slot, `contrast` does not. Planes used alike would have the mean id (planes + 1) / 2.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from posym.measure.attention import hop_queries, plane_logits
from posym.measure.scores import query_name, scores_of_logits
from posym.model import LayerView, Parameters, answer_logits, plane_angles
from posym.tasks.base import Sequences

BATCH_ITEMS = 32  # plane by plane a batch is as large as `planes` times as many items


def plane_summaries(parts: Tensor, query_slot: Tensor, tau: float) -> Tensor:
    """Per item and plane [item, plane, 5]: largest logit, logit at the head's top slot, contrast, positional, symbolic.

    `parts` [item, plane, slot, content] is from `plane_logits`. Each plane is scored as a head of its own, as the paper's
    predecessor does (section 3): its softmax, its swaps, its weights.
    """
    items, planes, slots = parts.shape[:3]
    hidden = torch.arange(slots, device=parts.device) > query_slot[:, None]
    held = parts.diagonal(dim1=2, dim2=3)  # [item, plane, slot]
    top = held.sum(1).masked_fill(hidden, -torch.inf).argmax(-1)
    at_top = held.gather(2, top[:, None, None].expand(-1, planes, 1)).squeeze(-1)
    in_view = held.masked_fill(hidden[:, None], 0)
    mean = in_view.sum(-1) / (query_slot[:, None] + 1)
    largest = held.masked_fill(hidden[:, None], -torch.inf).amax(-1)
    each = scores_of_logits(parts.flatten(0, 1), query_slot.repeat_interleave(planes), [tau])
    positional, symbolic = (part.view(items, planes) for part in (each.positional, each.symbolic))
    return torch.stack([largest, at_top, at_top - mean, positional, symbolic], dim=-1)


@torch.inference_mode()
def measure_planes(parameters: Parameters, items: Sequences, tau: float) -> dict[tuple[int, int], np.ndarray]:
    """`plane_summaries` of all items, float64 [item, plane, 5], by (layer, hop); tau as in the head score."""
    found: dict[tuple[int, int], list[Tensor]] = {}
    for start in range(0, len(items), BATCH_ITEMS):
        batch = items[slice(start, start + BATCH_ITEMS)]

        def observe(view: LayerView, batch: Sequences = batch) -> None:
            for hop in range(1, int(items.hops.max()) + 1):
                rows, slots = (torch.from_numpy(part).to(view.key.device) for part in hop_queries(batch, hop))
                if rows.numel():
                    parts = plane_logits(view.query[rows, slots], slots, view.key[rows])
                    found.setdefault((view.layer, hop), []).append(plane_summaries(parts, slots, tau))

        answer_logits(parameters, torch.from_numpy(batch.tokens).to(parameters.flat.device), observe=observe)
    return {place: torch.cat(parts).double().cpu().numpy() for place, parts in found.items()}


def frequency_rows(found: dict[tuple[int, int], np.ndarray], tau: float) -> list[dict[str, object]]:
    """Rows of frequencies.parquet for one checkpoint."""
    rows: list[dict[str, object]] = []
    for (layer, hop), values in sorted(found.items()):
        mean = values.mean(axis=0)
        planes = len(mean)
        use = np.maximum(values[:, :, 0], 0).mean(axis=0)
        ids, angles = np.arange(1, planes + 1), plane_angles(planes).numpy()
        total, contrast = use.sum(), mean[:, 2].sum()
        flat = (planes + 1) / 2
        mean_plane = float((ids * use).sum() / total) if total > 0 else flat
        shares = mean[:, 2] / contrast if contrast > 0 else np.zeros(planes)
        rows.extend(
            {
                "layer": layer,
                "head": 0,
                "query": query_name(hop),
                "plane": plane + 1,
                "angle": angles[plane],
                "use": use[plane],
                "mean_plane": mean_plane,
                "flat_mean_plane": flat,
                "logit": mean[plane, 1],
                "contrast": mean[plane, 2],
                "share": shares[plane],
                "tau": tau,
                "positional": mean[plane, 3],
                "symbolic": mean[plane, 4],
                "items": len(values),
            }
            for plane in range(planes)
        )
    return rows
