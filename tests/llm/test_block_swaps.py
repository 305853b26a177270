"""Block swaps against brute force: swap tokens, run transformers' own eager attention again, compare."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from torch import Tensor

from posym.errors import InputError
from posym.llm import heads, onehop


@torch.inference_mode()
def brute_force(model: Any, ids: Tensor, blocks: list[range], tau: float) -> tuple[Tensor, Tensor]:
    """Scores [layer, head] by running the whole model on every swapped input, in plain float64 vector arithmetic."""
    model.set_attn_implementation("eager")

    def averages(row: Tensor) -> Tensor:
        attention = model(row[None], output_attentions=True).attentions
        last = torch.stack([layer[0, :, -1] for layer in attention]).double()
        return torch.stack([last[..., list(block)].mean(-1) for block in blocks], dim=-1)

    before = averages(ids)
    stays, travels, moved = [], [], []
    for i, j in combinations(range(len(blocks)), 2):
        row = ids.clone()
        row[list(blocks[i])], row[list(blocks[j])] = ids[list(blocks[j])], ids[list(blocks[i])]
        after = averages(row)[..., [i, j]]
        here = before[..., [i, j]]
        norm = here.norm(dim=-1) * after.norm(dim=-1)
        stays.append((after * here).sum(-1) / norm)
        travels.append((after * here.flip(-1)).sum(-1) / norm)
        moved.append((here[..., 0] - here[..., 1]).abs() / tau)
    weight = torch.stack(moved).softmax(0)
    return (weight * torch.stack(stays)).sum(0), (weight * torch.stack(travels)).sum(0)


@pytest.mark.parametrize("kind", ["llama", "gptj"])
@pytest.mark.parametrize("task", ["number", "letter"])
def test_scores_are_those_of_brute_force(kind: str, task: str) -> None:
    model, tokenizer = tiny_models.model(kind), tiny_models.tokenizer()
    items = onehop.make_items(task, 0, 8, 2, 4)
    scores, rope = heads.measure_heads(model, tokenizer, task, items, 4, 1e-2, lambda _: None)
    rows, first, tokens = heads.block_inputs(tokenizer, task, items)
    blocks = heads.cut_blocks(first, tokens, 4)
    assert scores.positional.shape[0] == 2
    assert scores.positional.shape[-1] == 1 + len(rope.angles)
    for number, row in enumerate(rows):
        positional, symbolic = brute_force(model, torch.tensor(row), blocks, 1e-2)
        np.testing.assert_allclose(scores.positional[number, ..., 0], positional, atol=3e-4)
        np.testing.assert_allclose(scores.symbolic[number, ..., 0], symbolic, atol=3e-4)
    assert float(scores.positional.std()) > 0.01


@pytest.mark.parametrize("kind", ["llama", "gptj"])
def test_planes_and_angles(kind: str) -> None:
    model = tiny_models.model(kind)
    heads.use_observed_attention(model)
    rope = heads.find_rope(model)
    width, base = (8, 1000.0) if kind == "llama" else (8, 10000.0)
    np.testing.assert_allclose(rope.angles, base ** (-np.arange(0, width, 2) / width), rtol=1e-6)
    assert (rope.first[1], rope.second[1]) == ((1, 5) if kind == "llama" else (2, 3))
    with torch.inference_mode(), heads.observing(model) as views:
        model(torch.arange(5, 25)[None])
        logits = heads._logits(views[0], rope)
    assert [view.layer for view in views] == list(range(model.config.num_hidden_layers))
    assert logits.shape[2] == 1 + len(rope.angles)
    if kind == "llama":  # the planes are the whole head
        torch.testing.assert_close(logits[:, :, 1:].sum(2), logits[:, :, 0], atol=1e-3, rtol=1e-4)


def test_observed_attention_changes_no_output() -> None:
    for kind in ("llama", "gptj"):
        model = tiny_models.model(kind)
        ids = torch.arange(3, 60)[None]
        before = model(ids).logits
        heads.use_observed_attention(model)
        torch.testing.assert_close(model(ids).logits, before, atol=1e-4, rtol=1e-4)


def test_a_prefix_in_the_cache_changes_no_score() -> None:
    model = tiny_models.model("llama")
    heads.use_observed_attention(model)
    rope = heads.find_rope(model)
    ids = torch.randint(3, 200, (40,), generator=torch.Generator().manual_seed(0))
    blocks = heads.cut_blocks(12, 24, 4)
    plain = heads.block_scores(model, rope, ids, blocks, 1e-3)
    cached = heads.block_scores(model, rope, ids, blocks, 1e-3, heads.shared_prefix(model, ids[:10]), 10)
    for name in heads.BlockScores.__dataclass_fields__:
        torch.testing.assert_close(getattr(plain, name), getattr(cached, name), atol=2e-3, rtol=1e-3)


def test_cosines_are_cosines() -> None:
    random = np.random.default_rng(0)
    before, after = (torch.tensor(random.normal(size=(100, 2)) * 3) for _ in range(2))
    stays, travels = heads.cosines(before[:, 0] - before[:, 1], after[:, 0] - after[:, 1])
    v, w = before.exp(), after.exp()
    torch.testing.assert_close(stays, torch.cosine_similarity(v, w, dim=1))
    torch.testing.assert_close(travels, torch.cosine_similarity(v.flip(1), w, dim=1))


def test_equal_contents_are_positional() -> None:
    """Blocks that hold the same tokens change nothing when they are swapped."""
    model = tiny_models.model("llama")
    heads.use_observed_attention(model)
    scores = heads.block_scores(model, heads.find_rope(model), torch.full((20,), 50), heads.cut_blocks(2, 16, 4), 1e-3)
    torch.testing.assert_close(scores.positional, torch.ones_like(scores.positional), atol=1e-3, rtol=0)


def test_models_without_rope_and_uneven_blocks_are_refused() -> None:
    model = tiny_models.model("gpt2")
    with pytest.raises(InputError, match="a model of type gpt2 has no RoPE that this measurement knows"):
        heads.use_observed_attention(model)
        heads.find_rope(model)
    with pytest.raises(InputError, match="10 tokens cannot be cut into 4 equal blocks"):
        heads.cut_blocks(0, 10, 4)


def test_rows_name_every_head_and_plane() -> None:
    model, tokenizer = tiny_models.model("gptj"), tiny_models.tokenizer()
    items = onehop.make_items("number", 0, 8, 3, 4)
    scores, rope = heads.measure_heads(model, tokenizer, "number", items, 4, 1e-3, lambda _: None)
    rows = heads.head_rows("tiny", "number", scores, rope, 50, 0)
    assert len(rows) == 2 * 2 * 5
    assert {row["plane"] for row in rows} == set(range(5))
    for row in rows:
        assert row["positional_low"] - 1e-9 <= row["positional"] <= row["positional_high"] + 1e-9  # type: ignore[operator]
        assert (row["angle"] == 0) == (row["plane"] == 0)
        assert row["items"] == 3
