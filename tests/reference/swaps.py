"""The head score as the paper defines it: swap two vectors that enter a layer, run transformers' attention again, compare."""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor
from transformers import GPTJForCausalLM


def double_precision_rope(model: GPTJForCausalLM) -> None:
    """Give every attention its RoPE sines and cosines in float64; transformers makes them in float32 whatever the model's."""
    hidden = model.config.n_embd

    def replace(_module, args, kwargs):
        sin, _ = kwargs["position_embeddings"]
        slots = sin.shape[1]
        angles = torch.arange(slots, dtype=torch.float64)[:, None] / 10000 ** (
            torch.arange(0, hidden, 2, dtype=torch.float64) / hidden
        )
        kwargs["position_embeddings"] = tuple(
            wave.reshape(1, slots, *sin.shape[2:-1], -1).expand(sin.shape).clone()
            for wave in (angles.sin(), angles.cos())
        )
        return args, kwargs

    for block in model.transformer.h:
        block.attn.register_forward_pre_hook(replace, with_kwargs=True)


def brute_force_scores(
    model: GPTJForCausalLM, tokens: Tensor, layer: int, query_slots: list[int], tau: float
) -> tuple[Tensor, Tensor]:
    """Positional and symbolic score [item] of a layer's one head at one query slot an item, in the model's own precision."""
    block = model.transformer.h[layer]
    seen: dict = {}
    hooks = [
        block.register_forward_pre_hook(lambda _m, args: seen.update(entering=args[0])),
        block.attn.register_forward_pre_hook(lambda _m, _a, kwargs: seen.update(kwargs=kwargs), with_kwargs=True),
    ]
    with torch.no_grad():
        model(tokens)
    for hook in hooks:
        hook.remove()

    def attention(entering: Tensor) -> Tensor:
        mask = torch.full(2 * (tokens.shape[1],), -torch.inf, dtype=entering.dtype).triu(1)
        positions = tuple(
            wave[:1].expand(len(entering), *wave.shape[1:]) for wave in seen["kwargs"]["position_embeddings"]
        )
        with torch.no_grad():
            _, weights = block.attn(
                block.ln_1(entering), position_embeddings=positions, attention_mask=mask[None, None]
            )
        return weights[:, 0]

    positional, symbolic = [], []
    for item, query in enumerate(query_slots):
        entering = seen["entering"][item]
        pairs = list(combinations(range(query), 2))
        swapped = entering.repeat(len(pairs), 1, 1)
        for number, (i, j) in enumerate(pairs):
            swapped[number, [i, j]] = entering[[j, i]]
        before = attention(entering[None])[0, query]
        after = attention(swapped)[:, query]
        index = torch.tensor(pairs)
        old = before[index]
        new = after.gather(1, index)

        def cosine(a: Tensor, b: Tensor) -> Tensor:
            return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))

        weight = ((old[:, 0] - old[:, 1]).abs() / tau).softmax(0)
        positional.append((weight * cosine(new, old)).sum())
        symbolic.append((weight * cosine(new, old.flip(-1))).sum())
    return torch.stack(positional), torch.stack(symbolic)
