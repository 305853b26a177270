"""What one query of a head sees: its logits over the slots up to itself, whole or plane by plane.

Hop-k's query stands at path[k - 1] and should reach path[k] (paper section 3); an item has it when it has at least k hops.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import torch
from torch import Tensor

from posym.model import LayerView, Prefix, as_planes, rotate, rotations
from posym.tasks.base import Array, Sequences


def hop_queries(items: Sequences, hop: int) -> tuple[Array, Array]:
    """Rows of the items that have hop-k, and the slot [row] of its query in each."""
    rows = np.flatnonzero(items.hops >= hop)
    return rows, items.path[rows, hop - 1]


def hop_classes(hops: Array) -> list[tuple[int, Array]]:
    """Each number of hops among `hops` [item], 0 standing for all, with the items that have it."""
    return [(int(wanted), np.flatnonzero((hops == wanted) | (wanted == 0))) for wanted in (0, *np.unique(hops))]


def head_logits(view: LayerView, rows: Array, slots: Array, prefix: Prefix | None = None) -> Tensor:
    """Logits [item, slot] of one query an item over all slots of the input; slots after the query hold -inf.

    `rows` [item] says which rows of the batch, `slots` [item] where in the row's own tokens (after the `prefix`, whose
    slots come first in the result) the query stands.
    """
    device, hidden = view.key.device, view.key.shape[-1]
    row, slot = torch.from_numpy(rows).to(device), torch.from_numpy(slots).to(device)
    positions = torch.arange(view.first, view.first + view.key.shape[1], device=device)
    turns = rotations(positions, hidden // 2, view.key.dtype)
    query = rotate(view.query[row, slot], turns[slot]) / sqrt(hidden)
    logits = (rotate(view.key[row], turns) @ query[:, :, None]).squeeze(-1)
    logits = logits.masked_fill(positions - view.first > slot[:, None], -torch.inf)
    if prefix is None:
        return logits
    keys = prefix.keys[view.layer]
    group = row // (view.key.shape[0] // keys.shape[0])
    before = torch.empty(len(row), keys.shape[1], dtype=logits.dtype, device=device)
    for number in range(keys.shape[0]):  # a group's rows share its keys: no copy of the prefix for each row
        mine = group == number
        before[mine] = query[mine] @ keys[number].mT
    return torch.cat([before, logits], dim=-1)


def plane_logits(query: Tensor, query_slot: Tensor, key: Tensor) -> Tensor:
    """Each plane's part [item, plane, slot, content] of the logit that a query would give a slot that held a content.

    The parts of all planes add up to `posym.measure.scores.slot_content_logits`. query [item, hidden] and
    key [item, slot, hidden] before RoPE, query_slot int [item]; slots after the query are meaningless.
    """
    slots, hidden = key.shape[1:]
    distance = (query_slot[:, None] - torch.arange(slots, device=key.device)).clamp(min=0)
    table = rotations(torch.arange(slots, device=key.device), hidden // 2, key.dtype)
    turned = (as_planes(query)[:, None] * table[distance]).mT  # [item, plane, slot]
    contents = as_planes(key).mT
    return (turned[..., :, None] * contents.conj()[..., None, :]).real / sqrt(hidden)
