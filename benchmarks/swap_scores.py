"""Cost of the head scores on one core: against re-running a layer for every swap, and against the forward pass alone.

Two peers re-run layers on the same inputs, all swaps of an item in one batch. One runs transformers' block, as the
authors' procedure does. The other is the leanest that we know: our own products, and of the layer nothing but the
attention weights of the query. CPU time of the one thread is compared.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import GPTJForCausalLM

import common
from posym.measure import scores as measuring
from posym.measure.scores import measure_items, score_rows
from posym.model import (
    Parameters,
    answer_logits,
    embed,
    feed_forward,
    load_checkpoint,
    normed_input,
    project,
    rotate,
    rotations,
    save_checkpoint,
)
from posym.tasks.base import Sequences

TAUS = [1e-4, 1e-3, 1e-2]
PAPER_ITEMS, PAPER_CHECKPOINTS = 1200, 136


def swapped_inputs(entering: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    """Copies [pair, slot, hidden] of what enters a layer [slot, hidden], each with two slots exchanged."""
    order = torch.arange(len(entering)).repeat(len(pairs), 1)
    for number, (i, j) in enumerate(pairs):
        order[number, [i, j]] = torch.tensor([j, i])
    return entering[order]


def swap_scores(before: Tensor, after: Tensor, pairs: list[tuple[int, int]], tau: float) -> tuple[Tensor, Tensor]:
    """Both scores from attention before [slot] and after each swap [pair, slot]."""
    index = torch.tensor(pairs)
    old, new = before[index], after.gather(1, index)
    weight = ((old[:, 0] - old[:, 1]).abs() / tau).softmax(0)
    lengths = old.norm(dim=-1) * new.norm(dim=-1)
    return (
        (weight * (old * new).sum(-1) / lengths).sum(),
        (weight * (old * new.flip(-1)).sum(-1) / lengths).sum(),
    )


@torch.inference_mode()
def scores_by_blocks(model: GPTJForCausalLM, tokens: Tensor, tau: float) -> tuple[Tensor, Tensor]:
    """Scores [layer, item] of the last query, transformers' block run again for every swap."""
    layers: list[dict[str, Any]] = []
    hooks = [
        hook
        for number, block in enumerate(model.transformer.h)
        for hook in (
            block.register_forward_pre_hook(
                lambda _m, args, kwargs: layers.append({"entering": args[0], "kwargs": kwargs}), with_kwargs=True
            ),
            block.attn.register_forward_hook(  # type: ignore[union-attr]
                lambda _m, _a, out, number=number: layers[number].update(weights=out[1])
            ),
        )
    ]
    model(tokens, use_cache=False)
    for hook in hooks:
        hook.remove()
    pairs = list(combinations(range(tokens.shape[1] - 1), 2))
    found = torch.empty(2, len(layers), len(tokens), dtype=layers[0]["entering"].dtype)
    for number, (block, seen) in enumerate(zip(model.transformer.h, layers, strict=True)):
        again: dict[str, Tensor] = {}
        hook = block.attn.register_forward_hook(  # type: ignore[union-attr]
            lambda _m, _a, out, again=again: again.update(weights=out[1])
        )
        kwargs = {name: _for_pairs(value, len(pairs)) for name, value in seen["kwargs"].items()}
        for item, entering in enumerate(seen["entering"]):
            block(swapped_inputs(entering, pairs), **kwargs)
            both = swap_scores(seen["weights"][item, 0, -1], again["weights"][:, 0, -1], pairs, tau)
            found[0, number, item], found[1, number, item] = both
        hook.remove()
    return found[0], found[1]


def _for_pairs(value, count: int):  # type: ignore[no-untyped-def]
    """An argument of a block (masks, positions) as it is for `count` rows; what belongs to no row stays."""
    if isinstance(value, tuple):
        return tuple(_for_pairs(part, count) for part in value)
    if isinstance(value, Tensor) and value.ndim > 1:
        return value[:1].expand(count, *value.shape[1:])
    return value


@torch.inference_mode()
def scores_by_attention(parameters: Parameters, tokens: Tensor, tau: float) -> tuple[Tensor, Tensor]:
    """Scores [layer, item] of the last query, only LayerNorm, keys and the query's attention run again for every swap."""
    shape = parameters.shape
    pairs = list(combinations(range(tokens.shape[1] - 1), 2))
    turns = rotations(torch.arange(tokens.shape[1]), shape.planes, parameters.flat.dtype)
    entering = residuals(parameters, tokens)

    def attention(layer: int, given: Tensor) -> Tensor:
        normed = normed_input(parameters, layer, given)
        key = rotate(project(parameters, layer, "k_proj", normed), turns)
        query = rotate(project(parameters, layer, "q_proj", normed[:, -1:]), turns[-1:])
        return (query @ key.mT / sqrt(shape.hidden_size)).softmax(-1)[:, 0]

    found = torch.empty(2, shape.layers, len(tokens), dtype=parameters.flat.dtype)
    for layer, residual in enumerate(entering):
        before = attention(layer, residual)
        for item in range(len(tokens)):
            after = attention(layer, swapped_inputs(residual[item], pairs))
            found[0, layer, item], found[1, layer, item] = swap_scores(before[item], after, pairs, tau)
    return found[0], found[1]


def residuals(parameters: Parameters, tokens: Tensor) -> list[Tensor]:
    """What enters each layer [item, slot, hidden]."""
    shape, slots = parameters.shape, tokens.shape[1]
    turns = rotations(torch.arange(slots), shape.planes, parameters.flat.dtype)
    future = torch.ones(slots, slots, dtype=torch.bool).triu(1)
    found = [embed(parameters, tokens)]
    for layer in range(shape.layers - 1):
        normed = normed_input(parameters, layer, found[-1])
        query, key = (rotate(project(parameters, layer, name, normed), turns) for name in ("q_proj", "k_proj"))
        logits = (query @ key.mT / sqrt(shape.hidden_size)).masked_fill(future, -torch.inf)
        mixed = logits.softmax(-1) @ project(parameters, layer, "v_proj", normed)
        attended = project(parameters, layer, "out_proj", mixed)
        found.append(found[-1] + attended + feed_forward(parameters, layer, normed))
    return found


def last_query_only(items: Sequences) -> Sequences:
    """The same items as if each had one hop: then the last token is the only query."""
    return replace(items, hops=np.ones_like(items.hops))


def peer_model(parameters: Parameters) -> GPTJForCausalLM:
    """transformers' model with the same weights, attention written out."""
    with TemporaryDirectory() as folder:
        save_checkpoint(parameters, Path(folder) / "model", dropout=0.0)
        model = GPTJForCausalLM.from_pretrained(
            Path(folder) / "model", attn_implementation="eager", dtype=parameters.flat.dtype
        )
    return model.eval()


def forward(parameters: Parameters, items: Sequences) -> None:
    """The forward pass alone, in the batches of `measure_items`."""
    with torch.inference_mode():
        for start in range(0, len(items), measuring.BATCH_ITEMS):
            answer_logits(parameters, torch.from_numpy(items.tokens[start : start + measuring.BATCH_ITEMS]))


def whole_checkpoint(folder: Path, items: Sequences, taus: list[float]) -> None:
    """Everything that the `scores` rule does for one checkpoint."""
    _, found = measure_items(load_checkpoint(folder), items, taus)
    score_rows(0, found, items.hops, taus, 1000, 0)


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--items", type=int, default=240, help="items for the comparison with the forward pass")
    parser.add_argument("--swap-items", type=int, default=16, help="items for the comparison with swaps")
    parser.add_argument("--swap-repetitions", type=int, default=3)
    arguments = parser.parse_args()
    parameters, model = common.paper_model(), peer_model(common.paper_model())
    few, many, whole = (common.number_items(count) for count in (arguments.swap_items, arguments.items, PAPER_ITEMS))
    few_tokens = torch.from_numpy(few.tokens)
    with common.one_thread(), TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "step"
        save_checkpoint(parameters, checkpoint, dropout=0.1)
        swaps = common.side_by_side(
            {
                "ours": lambda: measure_items(parameters, last_query_only(few), TAUS[:1]),
                "blocks": lambda: scores_by_blocks(model, few_tokens, TAUS[0]),
                "attention": lambda: scores_by_attention(parameters, few_tokens, TAUS[0]),
            },
            arguments.swap_repetitions,
        )
        forwards = common.side_by_side(
            {
                "forward": lambda: forward(parameters, many),
                "last": lambda: measure_items(parameters, last_query_only(many), TAUS[:1]),
                "all": lambda: measure_items(parameters, many, TAUS),
            },
            arguments.repetitions,
        )
        job = common.side_by_side(
            {
                "last": partial(whole_checkpoint, checkpoint, last_query_only(whole), TAUS[:1]),
                "all": partial(whole_checkpoint, checkpoint, whole, TAUS),
            },
            arguments.swap_repetitions,
        )
    case, unit = "12 layers, {} items of 17 tokens, float32, 1 core: last query, one tau", "ms/item"
    of = partial(common.row, "score")

    def per_item(count: int):  # type: ignore[no-untyped-def]
        return lambda seconds: 1000 * seconds / count

    per_few, per_many = per_item(len(few)), per_item(len(many))
    few_case, many_case = case.format(len(few)), case.format(len(many))
    rows = [
        of(few_case, unit, swaps["ours"], swaps["blocks"], "transformers' block re-run a swap, batched", value=per_few),
        of(few_case, unit, swaps["ours"], swaps["attention"], "attention alone re-run a swap, batched", value=per_few),
        of(many_case, unit, forwards["last"], forwards["forward"], "the forward pass alone", value=per_many),
        of(many_case, unit, forwards["last"], forwards["all"], "ours, all hop queries and three taus", value=per_many),
        of(
            f"{PAPER_ITEMS} items x {PAPER_CHECKPOINTS} checkpoints, from one of them: last query, one tau",
            "core-minutes",
            job["last"],
            job["all"],
            "ours, all hop queries and three taus",
            value=lambda seconds: seconds * PAPER_CHECKPOINTS / 60,
        ),
    ]  # fmt: skip
    common.report(rows, write=arguments.write)


if __name__ == "__main__":
    main()
