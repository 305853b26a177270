"""The head score from one matrix against swapping vectors and running transformers' attention again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPTJForCausalLM

from posym.measure.scores import accuracy_rows, head_scores, measure_items, score_rows
from posym.model import Parameters, Shape, initial_parameters, save_checkpoint
from posym.tasks import make_task
from posym.training.cpu import CpuEngine
from posym.training.recipe import Recipe
from reference.swaps import brute_force_scores, double_precision_rope
from small import ALPHABETS, SIZES, sharp_parameters

SHAPE = Shape(vocabulary=128, layers=3, hidden_size=32, mlp_size=64, positions=64)


def trained_parameters() -> Parameters:
    """A letter model after a few hundred steps: no expert, but no longer random."""
    task = make_task("letter", SIZES, ALPHABETS["letter"])
    sequences = task.sample(np.random.default_rng(0), 4096)
    parameters = initial_parameters(SHAPE, seed=0, standard_deviation=0.2)
    recipe = Recipe(200, 64, 3e-3, 20, (0.9, 0.999), 1e-8, 0.0, 1.0, 0.0, 0)
    engine = CpuEngine(parameters, torch.from_numpy(sequences.tokens), torch.from_numpy(sequences.answer), recipe, None)
    losses, _ = engine.run(0, 200)
    assert losses[-20:].mean() < losses[:20].mean() - 0.5
    return engine.parameters


@pytest.mark.parametrize("made", ["random", "trained"])
def test_scores_equal_brute_force(made: str, tmp_path: Path) -> None:
    parameters = sharp_parameters(SHAPE) if made == "random" else trained_parameters()
    save_checkpoint(parameters, tmp_path / "checkpoint", dropout=0.1)
    model = GPTJForCausalLM.from_pretrained(tmp_path / "checkpoint", attn_implementation="eager", dtype=torch.float64)
    model.eval()
    double_precision_rope(model)
    task = make_task("letter", SIZES, ALPHABETS["letter"])
    items = task.sample(np.random.default_rng(1), 8)
    taus = [1e-4, 1e-2]
    _, found = measure_items(parameters.to(dtype=torch.float64), items, taus)
    assert list(found) == ["last", "hop-2", "hop-3", "hop-4"]
    for hop, (_query, layers) in enumerate(found.items(), start=1):
        rows = np.flatnonzero(items.hops >= hop)
        slots = items.path[rows, hop - 1].tolist()
        for layer, scores in enumerate(layers):
            for number, tau in enumerate(taus):
                wanted = brute_force_scores(model, torch.from_numpy(items.tokens[rows]), layer, slots, tau)
                torch.testing.assert_close(scores.positional[:, number], wanted[0], atol=1e-5, rtol=0)
                torch.testing.assert_close(scores.symbolic[:, number], wanted[1], atol=1e-5, rtol=0)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**31), slots=st.integers(3, 12), scale=st.floats(0.01, 30))
def test_scores_stay_in_range(seed: int, slots: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    query = scale * torch.randn(4, 8, dtype=torch.float64, generator=generator)
    key = torch.randn(4, slots, 8, dtype=torch.float64, generator=generator)
    scores = head_scores(query, torch.full((4,), slots - 1), key, [1e-4, 1.0])
    for value in (scores.positional, scores.symbolic):
        assert (value >= 0).all()
        assert (value <= 1 + 1e-12).all()
    assert (scores.self_mass >= 0).all()


def test_uniform_attention_scores_one_on_both() -> None:
    scores = head_scores(torch.zeros(2, 8), torch.tensor([5, 3]), torch.randn(2, 6, 8), [1e-4])
    torch.testing.assert_close(scores.positional, torch.ones(2, 1))
    torch.testing.assert_close(scores.symbolic, torch.ones(2, 1))
    torch.testing.assert_close(scores.entropy, torch.tensor([6.0, 4.0]).log())
    torch.testing.assert_close(scores.self_mass, torch.tensor([1 / 6, 1 / 4]))


def test_a_head_that_sees_slots_only_is_positional_and_one_that_sees_content_only_symbolic() -> None:
    """Equal keys leave only RoPE to tell slots apart; a plane that hardly turns leaves only content."""
    generator = torch.Generator().manual_seed(0)
    query = torch.zeros(3, 128, dtype=torch.float64)
    query[:, :2] = 40.0
    same = torch.zeros(3, 9, 128, dtype=torch.float64)
    same[:, :, 0] = 1.0
    positional = head_scores(query, torch.full((3,), 8), same, [1e-4])
    torch.testing.assert_close(positional.positional, torch.ones(3, 1, dtype=torch.float64))
    assert (positional.symbolic < 0.9).all()
    slow = torch.zeros(3, 128, dtype=torch.float64)
    slow[:, -2] = 40.0
    keys = torch.zeros(3, 9, 128, dtype=torch.float64)
    keys[:, :, -2] = torch.randn(3, 9, dtype=torch.float64, generator=generator)
    symbolic = head_scores(slow, torch.full((3,), 8), keys, [1e-4])
    torch.testing.assert_close(symbolic.symbolic, torch.ones(3, 1, dtype=torch.float64), atol=1e-4, rtol=0)
    assert (symbolic.positional < 0.9).all()


def test_rows_are_means_over_the_right_items() -> None:
    task = make_task("number", SIZES, {"letters": 8})
    shape = Shape(vocabulary=24, layers=2, hidden_size=16, mlp_size=16, positions=32)
    items = task.sample(np.random.default_rng(0), 40)
    correct, found = measure_items(sharp_parameters(shape), items, [1e-4])
    rows = score_rows(7, found, items.hops, [1e-4], samples=50, seed=0)
    assert len(rows) == 2 * (5 + 4 + 3 + 2)
    row = next(r for r in rows if (r["query"], r["layer"], r["hops"]) == ("hop-2", 1, 3))
    having = items.hops[items.hops >= 2]
    values = found["hop-2"][1].positional[torch.from_numpy(having == 3), 0]
    assert row["positional"] == pytest.approx(values.mean().item())
    assert row["positional_low"] <= row["positional"] <= row["positional_high"]
    assert row["items"] == 10
    by_hop = accuracy_rows(7, correct.numpy(), items.hops)
    assert [r["items"] for r in by_hop] == [40, 10, 10, 10, 10]
    assert by_hop[0]["correct"] == sum(r["correct"] for r in by_hop[1:])
