"""Discrepancy of trained heads: largest logit minus the next at each hop's query, against the input's length.

The paper's discrepancy (section 4) of one input: how well separated the slot is that a head looks at most, before the
softmax. High means well separated. `median` and its limits are of that. `margin` is signed: the logit of the slot that the
hop should reach, path[k], minus the largest other one; where it falls below 0 another slot wins. Items that share a prefix
are one cluster of the limits. `slope` is the least-squares slope of log median against log length.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from posym.measure.attention import head_logits, hop_queries
from posym.measure.bootstrap import LEVEL
from posym.model import LayerView, Parameters, Prefix, answer_logits, prefix_of
from posym.tasks.base import NO_SLOT, Array, Sequences, Task

Values = NDArray[np.float64]
Gaps = dict[int, Values]  # per hop [item, layer, 2]: discrepancy and margin
SMALLEST = 1e-12  # a median of 0 has no logarithm


def with_paths(task: Task, cores: Sequences) -> Sequences:
    """The same sequences with their paths, which files of long inputs do not hold, found by solving them."""
    path = np.full((len(cores), int(cores.hops.max()) + 1), NO_SLOT)
    for row, tokens in enumerate(cores.tokens):
        found = task.solve(tokens).path
        path[row, : len(found)] = found
    return Sequences(cores.tokens, cores.answer, cores.hops, cores.answer_slot, path)


@torch.inference_mode()
def head_gaps(parameters: Parameters, cores: Sequences, tokens: Array, prefix: Array, batch_tokens: int) -> Gaps:
    """Discrepancy and margin of every head at each hop's query, float64 [item having the hop, layer, 2] by hop.

    tokens [item, extra + core] hold the `cores` at their end; items of one `prefix` [item] share their extra tokens,
    equally many items each. `batch_tokens` bounds the distinct tokens run at once.
    """
    order = np.argsort(prefix, kind="stable")
    size = len(order) // len(np.unique(prefix))
    core = cores.tokens.shape[1]
    extra = tokens.shape[1] - core
    at_once = size * max(1, batch_tokens // (extra + size * core))
    hops = range(1, int(cores.hops.max()) + 1)
    everything = {hop: np.full((len(cores), parameters.shape.layers, 2), np.nan) for hop in hops}
    for start in range(0, len(order), at_once):
        chosen = order[start : start + at_once]
        batch = cores[chosen]
        given = torch.from_numpy(tokens[chosen]).to(parameters.flat.device)
        shared = prefix_of(parameters, given[::size, :extra]) if extra else None

        def observe(
            view: LayerView, chosen: Array = chosen, batch: Sequences = batch, shared: Prefix | None = shared
        ) -> None:
            for hop in hops:
                rows, slots = hop_queries(batch, hop)
                if not rows.size:
                    continue
                logits = head_logits(view, rows, slots, shared)
                two = logits.topk(2, dim=-1).values
                wanted = torch.from_numpy(batch.path[rows, hop] + extra).to(logits.device)[:, None]
                own = logits.gather(1, wanted).squeeze(1)
                best_other = logits.scatter(1, wanted, -torch.inf).amax(-1)
                both = torch.stack([two[:, 0] - two[:, 1], own - best_other], dim=-1)
                everything[hop][chosen[rows], view.layer] = both.double().cpu().numpy()

        answer_logits(parameters, given[:, extra:], shared, observe=observe)
    return {hop: everything[hop][hop_queries(cores, hop)[0]] for hop in hops}


def resampled_medians(values: Values, clusters: Array, samples: int, seed: int) -> Values:
    """Medians over items [sample, ...] of `values` [item, ...], whole clusters drawn with replacement."""
    _, item_cluster = np.unique(clusters, return_inverse=True)
    members = [np.flatnonzero(item_cluster == number) for number in range(item_cluster.max() + 1)]
    random = np.random.default_rng(seed)
    medians = []
    for _ in range(samples):
        drawn = random.integers(0, len(members), len(members))
        medians.append(np.median(values[np.concatenate([members[number] for number in drawn])], axis=0))
    return np.stack(medians)


def log_slope(lengths: Array, values: Values) -> Values:
    """Least-squares slope [...] of log `values` [length, ...] against log `lengths`."""
    x = np.log(lengths) - np.log(lengths).mean()
    y = np.log(np.maximum(values, SMALLEST))
    return np.tensordot(x, y, axes=1) / (x @ x)


def discrepancy_rows(
    lengths: list[int], gaps: list[Gaps], cores: Sequences, prefix: Array, samples: int, seed: int
) -> list[dict[str, object]]:
    """Rows of discrepancy.parquet: `gaps` of one model at each of `lengths` (total tokens), and the fits over them."""
    rows: list[dict[str, object]] = []
    tail = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    for hop in gaps[0]:
        clusters = prefix[hop_queries(cores, hop)[0]]
        values = np.stack([at[hop] for at in gaps], axis=1)  # [item, length, layer, 2]
        median = np.median(values, axis=0)
        resampled = resampled_medians(values, clusters, samples, seed)
        low, high = np.quantile(resampled, tail, axis=0)
        right = (values[..., 1] > 0).mean(axis=0)
        slope = log_slope(np.array(lengths), median[..., 0])
        slopes = log_slope(np.array(lengths), resampled[..., 0].swapaxes(0, 1))
        slope_low, slope_high = np.quantile(slopes, tail, axis=0)
        for layer in range(values.shape[2]):
            for number, length in enumerate(lengths):
                rows.append(
                    {
                        "layer": layer,
                        "head": 0,
                        "hop": hop,
                        "length": length,
                        "median": median[number, layer, 0],
                        "low": low[number, layer, 0],
                        "high": high[number, layer, 0],
                        "margin": median[number, layer, 1],
                        "margin_low": low[number, layer, 1],
                        "margin_high": high[number, layer, 1],
                        "right": right[number, layer],
                        "slope": slope[layer],
                        "slope_low": slope_low[layer],
                        "slope_high": slope_high[layer],
                        "items": len(values),
                    }
                )
    return rows
