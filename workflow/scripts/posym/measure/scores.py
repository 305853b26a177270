"""Accuracy by hop, and the positional and symbolic score of every head, from one forward pass an input.

The score is the paper's (section 4; Urrutia et al., arXiv 2511.11579): swap two vectors that enter a layer, re-run the
layer, compare the query's attention on the two slots with before. The query vector does not change and a cosine does not
see the softmax's denominator, so one matrix holds every swap: M[slot, content] = q . R(query slot - slot) k_content /
sqrt(d). After swapping i and j, slot i holds exp M[i, j] and slot j holds exp M[j, i]. No layer is run again.

Only differences of two logits enter, and nothing can overflow: with x the difference before the swap, y the one after,
X = exp -|x| and Y = exp -|y|, the cosines are (1 + X Y) / sqrt((1 + X^2)(1 + Y^2)) and (X + Y) over the same root. The
first belongs to the positional score where x and y have one sign, to the symbolic score where they differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from posym.measure.bootstrap import item_weights, mean_interval
from posym.model import LayerView, Parameters, answer_logits, as_planes, rotations
from posym.products import linear
from posym.tasks.base import Sequences

BATCH_ITEMS = 128
LAST_QUERY = "last"


@dataclass(frozen=True)
class ItemScores:
    """Scores of one head at one query of each item: positional, symbolic [item, tau]; entropy (nats), self_mass [item]."""

    positional: Tensor
    symbolic: Tensor
    entropy: Tensor
    self_mass: Tensor


def slot_content_logits(query: Tensor, query_slot: Tensor, key: Tensor) -> Tensor:
    """M [item, slot, content]: the logit that the query would give a slot if that slot held a content.

    query [item, hidden] and key [item, slot, hidden] before RoPE, query_slot int [item]. Slots after the query are
    meaningless and have to be left out by the caller.
    """
    slots, hidden = key.shape[1:]
    turns = rotations(torch.arange(slots, device=key.device), hidden // 2, key.dtype)
    # Turned back by its own slot, the query meets every slot with one table: per plane, Re(conj(q) k exp(i slot angle)).
    asking = (as_planes(query) * turns[query_slot]).conj().resolve_conj()
    pairs = torch.view_as_real(asking[:, None] * as_planes(key)).flatten(-2)
    table = torch.view_as_real(turns.conj().resolve_conj()).flatten(-2) / sqrt(hidden)
    return linear(pairs, table).mT


def head_scores(query: Tensor, query_slot: Tensor, key: Tensor, taus: list[float]) -> ItemScores:
    """Scores of one head at one query an item; arguments as in `slot_content_logits`.

    All swaps of two slots before the query count, weighted by softmax(|D_i - D_j| / tau) over the swaps, D being the
    query's attention over all slots up to itself. A query needs two earlier slots.
    """
    return scores_of_logits(slot_content_logits(query, query_slot, key), query_slot, taus)


def scores_of_logits(logits: Tensor, query_slot: Tensor, taus: list[float]) -> ItemScores:
    """Scores from the matrix [item, slot, content] of `slot_content_logits`, or from any part of the logit's."""
    slots = logits.shape[1]
    here = torch.arange(slots, device=logits.device)
    held = logits.diagonal(dim1=1, dim2=2)
    attention = held.masked_fill(here > query_slot[:, None], -torch.inf).softmax(-1)
    first, second = torch.triu_indices(slots, slots, 1, device=logits.device)
    before = held.index_select(1, first) - held.index_select(1, second)
    after = (logits - logits.mT).flatten(1).index_select(1, first * slots + second)
    less_before, less_after = before.abs().neg_().exp_(), after.abs().neg_().exp_()
    root = torch.addcmul(less_before.square() + 1, less_before.square() + 1, less_after.square()).rsqrt_()
    parallel, crossed = (less_before * less_after + 1).mul_(root), (less_before + less_after).mul_(root)
    same_sign = (before * after).ge_(0)  # 0 or 1: lerp returns either end exactly, several times faster than where
    cosines = torch.stack([crossed.lerp(parallel, same_sign), parallel.lerp(crossed, same_sign)], dim=1)
    moved = (attention.index_select(1, first) - attention.index_select(1, second)).abs_()
    moved.masked_fill_(second >= query_slot[:, None], -torch.inf)
    weights = torch.stack([torch.softmax(moved / tau, dim=-1) for tau in taus], dim=1)
    positional, symbolic = (cosines @ weights.mT).unbind(1)
    return ItemScores(
        positional=positional,
        symbolic=symbolic,
        entropy=torch.special.entr(attention).sum(-1),
        self_mass=attention.gather(1, query_slot[:, None]).squeeze(1),
    )


def query_name(hop: int) -> str:
    """Name of the query hop-k of a path: `last` for 1, then `hop-2` and so on, counted from the last token."""
    return LAST_QUERY if hop == 1 else f"hop-{hop}"


@torch.inference_mode()
def measure_items(
    parameters: Parameters, items: Sequences, taus: list[float]
) -> tuple[Tensor, dict[str, list[ItemScores]]]:
    """Whether each item is answered correctly, bool [item], and per query a list over layers of its items' scores.

    The query hop-k stands at path[k - 1]; only items with at least k hops have it, in their order.
    """
    device = parameters.flat.device
    hops = range(1, int(items.hops.max()) + 1)
    correct = []
    found: dict[str, list[list[ItemScores]]] = {
        query_name(hop): [[] for _ in range(parameters.shape.layers)] for hop in hops
    }
    for start in range(0, len(items), BATCH_ITEMS):
        batch = items[slice(start, start + BATCH_ITEMS)]
        tokens = torch.from_numpy(batch.tokens).to(device)
        queries = {}
        for hop in hops:
            rows = np.flatnonzero(batch.hops >= hop)
            if rows.size:
                queries[query_name(hop)] = (
                    torch.from_numpy(rows).to(device),
                    torch.from_numpy(batch.path[rows, hop - 1]).to(device),
                )

        def observe(view: LayerView, queries: dict[str, tuple[Tensor, Tensor]] = queries) -> None:
            for name, (rows, slot) in queries.items():
                key = view.key if len(rows) == len(view.key) else view.key[rows]
                found[name][view.layer].append(head_scores(view.query[rows, slot], slot, key, taus))

        logits = answer_logits(parameters, tokens, observe=observe)
        correct.append(logits.argmax(-1).cpu() == torch.from_numpy(batch.answer))
    joined = {
        name: [
            ItemScores(
                *(
                    torch.cat([getattr(part, field) for part in parts]).cpu()
                    for field in ItemScores.__dataclass_fields__
                )
            )
            for parts in layers
        ]
        for name, layers in found.items()
    }
    return torch.cat(correct), joined


def accuracy_rows(step: int, correct: NDArray[np.bool_], hops: NDArray[np.int64]) -> list[dict[str, object]]:
    """Rows of accuracy.parquet for one checkpoint: every hop class, and 0 for all items."""
    rows: list[dict[str, object]] = []
    for wanted in (0, *np.unique(hops)):
        chosen = correct[(hops == wanted) | (wanted == 0)]
        rows.append(
            {
                "step": step,
                "hops": int(wanted),
                "accuracy": float(chosen.mean()),
                "correct": int(chosen.sum()),
                "items": len(chosen),
            }
        )
    return rows


def score_rows(
    step: int, scores: dict[str, list[ItemScores]], hops: NDArray[np.int64], taus: list[float], samples: int, seed: int
) -> list[dict[str, object]]:
    """Rows of scores.parquet for one checkpoint: means over items with 95 % bootstrap limits from `samples` resamplings."""
    rows: list[dict[str, object]] = []
    for hop, (query, layers) in enumerate(scores.items(), start=1):
        having = hops[hops >= hop]
        both = torch.stack([torch.stack([s.positional, s.symbolic]) for s in layers]).double()
        values = both.movedim(2, 0).numpy()  # [item, layer, score, tau]
        for wanted in (0, *np.unique(having)):
            chosen = np.flatnonzero((having == wanted) | (wanted == 0))
            weights = item_weights(len(chosen), samples, seed)
            mean = values[chosen].mean(axis=0)
            low, high = mean_interval(values[chosen], weights)
            for layer, score in enumerate(layers):
                entropy, self_mass = (float(part[chosen].double().mean()) for part in (score.entropy, score.self_mass))
                for number, tau in enumerate(taus):
                    row: dict[str, object] = {"step": step, "layer": layer, "head": 0, "query": query, "tau": tau}
                    for which, name in enumerate(("positional", "symbolic")):
                        row[name] = mean[layer, which, number]
                        row[f"{name}_low"], row[f"{name}_high"] = low[layer, which, number], high[layer, which, number]
                    row |= {"hops": int(wanted), "entropy": entropy, "self_mass": self_mass, "items": len(chosen)}
                    rows.append(row)
    return rows
