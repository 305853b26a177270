"""Accuracy on inputs longer than those of training: extra target-type tokens come first (paper section 5).

Attention is causal and the extra tokens come first, so items that share them share their keys and values: one pass over
the prefix, then only each item's own core against it. Intervals count a prefix as one cluster.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from posym.errors import InputError
from posym.measure.bootstrap import share_interval
from posym.model import Parameters, answer_logits, prefix_of
from posym.tasks.base import Array


@torch.inference_mode()
def answers_on_long_inputs(
    parameters: Parameters, tokens: Array, answer: Array, extra: int, prefix: Array, batch_tokens: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Whether each item is answered correctly, bool [item], and its answer's logit minus the largest other one [item].

    tokens [item, extra + core]; `prefix` [item] names who shares the extra tokens, equally many items each. Memory is
    bounded by `batch_tokens`, the number of distinct tokens run at once.
    """
    order = np.argsort(prefix, kind="stable")
    groups, sizes = np.unique(prefix, return_counts=True)
    if len(set(sizes)) != 1:
        raise InputError("the items of the extrapolation set do not share their prefixes equally: make the data again")
    size = int(sizes[0])
    core = tokens.shape[1] - extra
    at_once = max(1, batch_tokens // (extra + size * core))
    device = parameters.flat.device
    correct = np.empty(len(answer), dtype=bool)
    margin = np.empty(len(answer))
    for start in range(0, len(groups), at_once):
        rows = order[start * size : (start + at_once) * size]
        batch = torch.from_numpy(tokens[rows]).to(device)
        shared = prefix_of(parameters, batch[::size, :extra]) if extra else None
        logits = answer_logits(parameters, batch[:, extra:], shared)
        wanted = torch.from_numpy(answer[rows]).to(device)[:, None]
        own = logits.gather(1, wanted).squeeze(1)
        best_other = logits.scatter(1, wanted, -torch.inf).amax(-1)
        correct[rows] = (own > best_other).cpu().numpy()
        margin[rows] = (own - best_other).double().cpu().numpy()
    return correct, margin


def extrapolation_rows(
    step: int,
    extra: int,
    length: int,
    hops: Array,
    prefix: Array,
    correct: NDArray[np.bool_],
    margin: NDArray[np.float64],
    samples: int,
    seed: int,
) -> list[dict[str, object]]:
    """Rows of extrapolation.parquet for one checkpoint and length: every hop class, and 0 for all items."""
    rows: list[dict[str, object]] = []
    for wanted in (0, *np.unique(hops)):
        chosen = (hops == wanted) | (wanted == 0)
        low, high = share_interval(correct[chosen], prefix[chosen], samples, seed)
        rows.append(
            {
                "step": step,
                "extra": extra,
                "length": length,
                "hops": int(wanted),
                "accuracy": float(correct[chosen].mean()),
                "low": low,
                "high": high,
                "correct": int(correct[chosen].sum()),
                "items": int(chosen.sum()),
                "prefixes": len(np.unique(prefix[chosen])),
                "logit_margin": float(margin[chosen].mean()),
            }
        )
    return rows
