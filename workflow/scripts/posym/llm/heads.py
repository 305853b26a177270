"""Positional and symbolic scores of the heads of a pretrained model by block swaps (Urrutia et al., arXiv 2511.11579).

The window of a prompt is cut into B contiguous blocks of equally many tokens. Two whole blocks of the input are swapped and the
whole model is run again; nothing else in the input moves. For one query (the last token of the prompt) and one head,
A is the attention averaged over the tokens of each block. With v = (A_i, A_j) before and v' the same two blocks after
swapping i and j, c_pos = cos(v', v) and c_sym = cos(v', reversed v); the scores are their means over all B (B - 1) / 2 swaps,
weighted by softmax(|A_i - A_j| / tau) of the unswapped input.

The same is done for every RoPE plane as if it were a head of its own: its logits are the plane's two coordinates alone.

Averages are kept as logarithms: with a, b the log attention of two blocks, (A_i, A_j) has direction
(sqrt(sigmoid(2 (a - b))), sqrt(sigmoid(2 (b - a)))), so that nothing under- or overflows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, combinations
from math import log
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posym.errors import InputError
from posym.llm.onehop import Item, instructions
from posym.measure.bootstrap import Values, mean_interval, resampling_weights

OBSERVED = "posym_observed"
PROBE_POSITION = 3
MASKED = -1e4  # finite, so that two masked blocks compare as equal


@dataclass(frozen=True)
class Rope:
    """How a model turns queries and keys: `angles` [plane] in radians a token, and which two coordinates a plane has."""

    angles: Tensor
    first: Tensor  # coordinate indices [plane]
    second: Tensor


@dataclass(frozen=True)
class View:
    """One layer's attention from the last token: query [item, head, width], key [item, head, slot, width], after RoPE.

    `hidden` bool [item or 1, head or 1, slot] marks slots that the layer masks out, or is None; logits are scale * q . k,
    squashed to softcap * tanh(logit / softcap) where `softcap` is not None.
    """

    layer: int
    query: Tensor
    key: Tensor
    scale: float
    softcap: float | None
    hidden: Tensor | None


@dataclass(frozen=True)
class BlockScores:
    """Of one input: positional, symbolic, entropy (nats) and block_mass [layer, head, 1 + plane]; place 0 is the whole head.

    `block_mass` is the attention that falls on the blocks, all together; the rest goes to the instructions and the query.
    """

    positional: Tensor
    symbolic: Tensor
    entropy: Tensor
    block_mass: Tensor


def _observed_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Attention as transformers' plain one computes it, telling the model's observer what the last token sees."""
    groups = query.shape[1] // key.shape[1]
    scale = options.get("scaling")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    softcap = options.get("softcap")
    slots, asking = key.shape[2], query.shape[2]
    if attention_mask is None:  # transformers leaves out a mask that is plainly causal
        here = torch.arange(slots, device=query.device)
        hidden = (here > here[slots - asking :, None])[None, None]
    elif attention_mask.dtype == torch.bool:
        hidden = ~attention_mask
    else:
        hidden = attention_mask < 0
    observe = module.posym_observer
    if observe is not None:
        last = hidden[:, :, -1, :slots]
        keys = key.repeat_interleave(groups, dim=1)
        observe(View(module.layer_idx, query[:, :, -1], keys, scale, softcap, last if last.any() else None))
    grouped = query.unflatten(1, (key.shape[1], groups))
    logits = grouped @ key.unsqueeze(2).mT * scale
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    logits = logits.masked_fill(hidden[..., :slots].unsqueeze(2), -torch.inf)
    mixed = logits.softmax(-1) @ value.unsqueeze(2)
    return mixed.flatten(1, 2).transpose(1, 2).contiguous(), None


def use_observed_attention(model: Any) -> None:
    """Make a transformers model compute attention here; one that cannot be made to raises `InputError`."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(OBSERVED, _observed_attention)
    AttentionMaskInterface.register(OBSERVED, sdpa_mask)
    if not getattr(model, "_supports_attention_backend", False):
        raise InputError(f"{_name(model)} lets no other attention function in: head scores need a model that does")
    model.set_attn_implementation(OBSERVED)
    for module in model.modules():
        if hasattr(module, "layer_idx"):
            module.posym_observer = None


@contextmanager
def observing(model: Any) -> Iterator[list[View]]:
    """Yield a list that gets one `View` a layer from each run of the model inside the block."""
    views: list[View] = []
    modules = [module for module in model.modules() if hasattr(module, "posym_observer")]
    for module in modules:
        module.posym_observer = views.append
    try:
        yield views
    finally:
        for module in modules:
            module.posym_observer = None


def _name(model: Any) -> str:
    return f"a model of type {model.config.model_type}"


@torch.inference_mode()
def find_rope(model: Any) -> Rope:
    """Angles and coordinates of the model's RoPE planes, found in its configuration and checked against its keys.

    The check: the first layer's keys of one token at positions 0 and 3 must differ by exactly these turns. A model that fails it
    (no RoPE, several kinds of it, or an unknown one) raises `InputError`. `use_observed_attention` comes first.
    """
    refusal = InputError(
        f"{_name(model)} has no RoPE that this measurement knows: it needs one and the same rotation in all layers, of"
        " coordinates paired in halves (Llama) or neighbours (GPT-J)"
    )
    rotations = [buffer for name, buffer in model.named_buffers() if name.rpartition(".")[2].endswith("inv_freq")]
    rotations = [buffer for buffer in rotations if buffer.ndim == 1]
    width = getattr(model.config, "rotary_dim", None)
    if rotations:
        angles = rotations[0].double().cpu()
        if any(other.shape != rotations[0].shape or not torch.equal(other, rotations[0]) for other in rotations):
            raise refusal
    elif width:
        angles = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    else:
        raise refusal
    planes = len(angles)
    keys = []
    token = torch.tensor([[min(5, model.config.vocab_size - 1)]], device=model.device)
    with observing(model) as views:
        for position in (0, PROBE_POSITION):
            views.clear()
            try:
                model(token, position_ids=torch.tensor([[position]], device=model.device), use_cache=False)
            except TypeError:
                raise refusal from None
            if len(views) != model.config.num_hidden_layers:
                raise refusal
            keys.append(views[0].key[0, :, 0].double().cpu())
    if keys[0].shape[-1] < 2 * planes:
        raise refusal
    turn = torch.polar(torch.ones(planes, dtype=torch.float64), PROBE_POSITION * angles)
    halves = (torch.arange(planes), torch.arange(planes) + planes)
    neighbours = (2 * torch.arange(planes), 2 * torch.arange(planes) + 1)
    for first, second in (halves, neighbours):
        before, after = (torch.complex(key[:, first], key[:, second]) for key in keys)
        if torch.allclose(before * turn, after, rtol=1e-3, atol=1e-4 * float(before.abs().max())):
            return Rope(angles, first, second)
    raise refusal


def cut_blocks(first: int, tokens: int, blocks: int) -> list[range]:
    """Slots of `blocks` equal contiguous blocks from slot `first` on; `InputError` where `tokens` cannot be shared equally."""
    size, rest = divmod(tokens, blocks)
    if rest or not size or blocks < 2:
        raise InputError(
            f"{tokens} tokens cannot be cut into {blocks} equal blocks: change llm.heads.length or .blocks"
        )
    return [range(first + block * size, first + (block + 1) * size) for block in range(blocks)]


def swapped_inputs(ids: Tensor, blocks: list[range]) -> Tensor:
    """The input itself, then one copy a swap of two blocks [1 + swap, slot]; swaps in the order of `combinations`."""
    rows = [ids]
    for i, j in combinations(range(len(blocks)), 2):
        row = ids.clone()
        row[list(blocks[i])], row[list(blocks[j])] = ids[list(blocks[j])], ids[list(blocks[i])]
        rows.append(row)
    return torch.stack(rows)


@torch.inference_mode()
def shared_prefix(model: Any, ids: Tensor) -> Any:
    """What a run over the first tokens `ids` [slot] leaves in the model's cache, for `block_scores`."""
    return model(ids[None], use_cache=True, logits_to_keep=1).cache


@torch.inference_mode()
def block_scores(
    model: Any, rope: Rope, ids: Tensor, blocks: list[range], tau: float, prefix: Any = None, prefix_slots: int = 0
) -> BlockScores:
    """Scores of all heads and planes for one input `ids` [slot]; the query is its last token.

    `blocks` are slots of `ids`, all of one size, none before `prefix_slots`; `prefix` is what `shared_prefix` returned for the
    first `prefix_slots` tokens, which then are not run again.
    """
    batch = swapped_inputs(ids, blocks)
    cache = None
    if prefix is not None:
        cache = copy.deepcopy(prefix)
        cache.batch_repeat_interleave(len(batch))
    with observing(model) as views:
        model(batch[:, prefix_slots:], cache=cache, use_cache=cache is not None, logits_to_keep=1)
    layers = [_layer_scores(view, rope, blocks, tau) for view in sorted(views, key=lambda view: view.layer)]
    return BlockScores(*(torch.stack(part).cpu() for part in zip(*layers, strict=True)))


def _logits(view: View, rope: Rope) -> Tensor:
    """Logits [item, head, 1 + plane, slot] of the whole head and of each plane alone."""
    query, key = view.query.unsqueeze(2), view.key
    whole = (query @ key.mT).squeeze(2) * view.scale
    if view.softcap is not None:
        whole = view.softcap * torch.tanh(whole / view.softcap)
    first, second = rope.first.to(key.device), rope.second.to(key.device)
    planes = (query[..., first] * key[..., first] + query[..., second] * key[..., second]) * view.scale
    logits = torch.cat([whole.unsqueeze(2), planes.mT], dim=2)
    return logits if view.hidden is None else logits.masked_fill(view.hidden.unsqueeze(2), MASKED)


def _layer_scores(view: View, rope: Rope, blocks: list[range], tau: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Positional, symbolic, entropy, block_mass [head, 1 + plane] of one layer from its view of `swapped_inputs`."""
    held = _logits(view, rope).log_softmax(-1)
    size = len(blocks[0])
    averages = held[..., blocks[0].start : blocks[-1].stop].unflatten(-1, (len(blocks), size)).logsumexp(-1) - log(size)
    pairs = list(combinations(range(len(blocks)), 2))
    i, j = (torch.tensor(side, device=held.device) for side in zip(*pairs, strict=True))
    here = averages[0]
    swaps = torch.arange(1, 1 + len(pairs), device=held.device)
    before = here[..., i] - here[..., j]
    after = (averages[swaps, ..., i] - averages[swaps, ..., j]).movedim(0, -1)
    stays, travels = cosines(before, after)
    weight = torch.softmax((here[..., i].exp() - here[..., j].exp()).abs() / tau, dim=-1)
    attention = held[0].exp()
    return (
        (weight * stays).sum(-1),
        (weight * travels).sum(-1),
        torch.special.entr(attention).sum(-1),
        here.exp().sum(-1) * size,
    )


def cosines(before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """c_pos and c_sym of pairs whose log attentions differ by `before` and, after the swap, by `after`."""
    one, other = torch.sigmoid(2 * before).sqrt(), torch.sigmoid(-2 * before).sqrt()
    one_after, other_after = torch.sigmoid(2 * after).sqrt(), torch.sigmoid(-2 * after).sqrt()
    return one * one_after + other * other_after, other * one_after + one * other_after


def block_inputs(tokenizer: Any, task: str, items: list[Item]) -> tuple[list[list[int]], int, int]:
    """Ids of each item's prompt, where its window starts, and the window's tokens: the same for all.

    The window is put together word by word, each with its space, so that every word has the same ids wherever it stands.
    Words of unequal token counts raise `InputError`: swapping them would move everything between them.
    """

    def encode(text: str, special: bool = False) -> list[int]:
        return list(tokenizer(text, add_special_tokens=special)["input_ids"])

    start = encode(f'{instructions(task)}Input: "', special=True)
    rows, sizes = [], set()
    for item in items:
        *words, query = item.window.split()
        coded = [encode(f" {word}") for word in words]
        sizes |= set(map(len, coded))
        rows.append([*start, *chain(*coded), *encode(f' {query}"\nOutput:')])
    if len(sizes) != 1:
        raise InputError(
            f"the tokenizer cuts words of the {task} game into {sorted(sizes)} tokens: blocks cannot be swapped"
        )
    return rows, len(start), sizes.pop() * items[0].length


def measure_heads(
    model: Any, tokenizer: Any, task: str, items: list[Item], blocks: int, tau: float, progress: Callable[[int], None]
) -> tuple[BlockScores, Rope]:
    """Block scores of all items of one task and length, each field [item, layer, head, 1 + plane], and the model's RoPE.

    The prompt is the bare text, as in `posym.llm.next_token`; the query is its last token, where the answer is predicted.
    `progress` is told how many items are done. Raises `InputError` as `find_rope`, `block_inputs` and `cut_blocks` do.
    """
    use_observed_attention(model)
    rope = find_rope(model)
    rows, first, tokens = block_inputs(tokenizer, task, items)
    slots = cut_blocks(first, tokens, blocks)
    prefix = shared_prefix(model, torch.tensor(rows[0][:first], device=model.device))
    found = []
    for row in rows:
        found.append(block_scores(model, rope, torch.tensor(row, device=model.device), slots, tau, prefix, first))
        progress(len(found))
    fields = BlockScores.__dataclass_fields__
    return BlockScores(*(torch.stack([getattr(one, name) for one in found]) for name in fields)), rope


def head_rows(
    model: str, task: str, scores: BlockScores, rope: Rope, samples: int, seed: int
) -> list[dict[str, object]]:
    """Rows of `llm/{model}-heads.parquet`: means over items with 95 % bootstrap limits; plane 0 is the whole head, angle 0."""
    items = len(scores.positional)
    weights = resampling_weights(np.arange(items), samples, seed)
    means: dict[str, Values] = {}
    lows: dict[str, Values] = {}
    highs: dict[str, Values] = {}
    for name in ("positional", "symbolic", "entropy", "block_mass"):
        values = getattr(scores, name).double().numpy()
        means[name] = values.mean(axis=0)
        if name in ("positional", "symbolic"):
            lows[name], highs[name] = mean_interval(values, weights)
    angles = [0.0, *rope.angles.tolist()]
    rows: list[dict[str, object]] = []
    for layer, head, plane in np.ndindex(means["positional"].shape):
        place = (layer, head, plane)
        row: dict[str, object] = {"model": model, "task": task, "layer": layer, "head": head, "plane": plane}
        for name in ("positional", "symbolic"):
            row |= {name: means[name][place], f"{name}_low": lows[name][place], f"{name}_high": highs[name][place]}
        row |= {name: means[name][place] for name in ("entropy", "block_mass")}
        rows.append(row | {"angle": angles[plane], "items": items})
    return rows
