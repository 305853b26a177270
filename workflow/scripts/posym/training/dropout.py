"""Where a training step drops values: the four places of transformers' GPT-J, as views of one flat mask."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from torch import Tensor

from posym.model import Shape


@dataclass(frozen=True)
class LayerMasks:
    """Masks of one layer; the last layer has `queries` = 1 (only the query slot is computed), every other one = slots."""

    attention: Tensor  # [batch, queries, slots], on the attention probabilities
    attention_out: Tensor  # [batch * queries, hidden]
    mlp_out: Tensor  # [batch * queries, hidden]


@dataclass(frozen=True)
class Masks:
    """Factors that values are multiplied by: 0 where dropped, 1 / (share kept) elsewhere."""

    embedding: Tensor  # [batch * slots, hidden]
    layers: tuple[LayerMasks, ...]


def _sizes(shape: Shape, batch: int, slots: int) -> list[tuple[int, ...]]:
    sizes: list[tuple[int, ...]] = [(batch * slots, shape.hidden_size)]
    for layer in range(shape.layers):
        queries = 1 if layer == shape.layers - 1 else slots
        rows = (batch * queries, shape.hidden_size)
        sizes += [(batch, queries, slots), rows, rows]
    return sizes


def mask_size(shape: Shape, batch: int, slots: int) -> int:
    """Number of values that one step may drop."""
    return sum(prod(size) for size in _sizes(shape, batch, slots))


def masks_of(flat: Tensor, shape: Shape, batch: int, slots: int) -> Masks:
    """Views of a flat tensor of `mask_size` values."""
    sizes = _sizes(shape, batch, slots)
    parts = flat.split([prod(size) for size in sizes])
    views = [part.view(size) for part, size in zip(parts, sizes, strict=True)]
    layers = tuple(LayerMasks(*views[start : start + 3]) for start in range(1, len(views), 3))
    return Masks(views[0], layers)
