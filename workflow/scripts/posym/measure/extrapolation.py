"""Accuracy on inputs longer than those of training: extra target-type tokens come first (paper section 5).

Attention is causal and the extra tokens come first, so items that share them share their keys and values: one pass over
the prefix, then only each item's own core against it. A shorter prefix is the beginning of a longer one, so that pass
serves every length. Intervals count a prefix as one cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from posym.errors import InputError
from posym.measure.bootstrap import share_interval
from posym.model import Parameters, answer_logits, prefix_of
from posym.tasks.base import Array


@dataclass(frozen=True)
class Answers:
    """Whether each item is answered correctly [item], and its answer's logit minus the largest other one [item]."""

    correct: NDArray[np.bool_]
    margin: NDArray[np.float64]


def answers_on_long_inputs(
    parameters: Parameters, tokens: Array, answer: Array, extra: int, prefix: Array, batch_tokens: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """`Answers` to items of one length as a pair; see `answers_along_axis`, of which this is the case of one length."""
    (found,) = answers_along_axis(parameters, [tokens], answer, [extra], prefix, batch_tokens)
    return found.correct, found.margin


@torch.inference_mode()
def answers_along_axis(
    parameters: Parameters,
    tokens: list[Array],
    answer: Array,
    axis: list[int],
    prefix: Array,
    batch_tokens: int,
    tell: Callable[[int], None] = lambda _prefixes: None,
) -> list[Answers]:
    """Answers to the same items at every number of extra tokens in `axis`.

    tokens [item, extra + core], one array for each of `axis`; `prefix` [item] names who shares the extra tokens, equally
    many items each, and fewer extra tokens are the first of more. Memory is bounded by `batch_tokens`, the number of
    distinct tokens run at once. `tell` is called with the number of prefixes done so far.
    """
    order = np.argsort(prefix, kind="stable")
    groups, sizes = np.unique(prefix, return_counts=True)
    if len(set(sizes)) != 1:
        raise InputError("the items of the extrapolation set do not share their prefixes equally: make the data again")
    size = int(sizes[0])
    most = int(np.argmax(axis))
    longest = tokens[most][order[::size], : axis[most]]  # one row a prefix
    for extra, rows in zip(axis, tokens, strict=True):
        if not (rows[order, :extra] == longest[:, :extra].repeat(size, axis=0)).all():
            raise InputError("a prefix of the extrapolation set does not begin a longer one: make the data again")
    core = tokens[most].shape[1] - axis[most]
    at_once = max(1, batch_tokens // (axis[most] + size * core))
    found = [Answers(np.empty(len(answer), dtype=bool), np.empty(len(answer))) for _ in axis]
    for start in range(0, len(groups), at_once):
        rows = order[start * size : (start + at_once) * size]
        whole = prefix_of(parameters, _on_device(parameters, longest[start : start + at_once])) if axis[most] else None
        wanted = _on_device(parameters, answer[rows])[:, None]
        for extra, given, answers in zip(axis, tokens, found, strict=True):
            shared = whole.first(extra) if whole and extra else None
            logits = answer_logits(parameters, _on_device(parameters, given[rows, extra:]), shared)
            own = logits.gather(1, wanted).squeeze(1)
            best_other = logits.scatter(1, wanted, -torch.inf).amax(-1)
            answers.correct[rows] = (own > best_other).cpu().numpy()
            answers.margin[rows] = (own - best_other).double().cpu().numpy()
        tell(min(start + at_once, len(groups)))
    return found


def _on_device(parameters: Parameters, array: Array) -> torch.Tensor:
    return torch.from_numpy(array).to(parameters.flat.device)


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
