"""The forward pass's hooks, and the measurements that put something in: ablation, patching, restriction."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from posym.measure.ablation import ablate, answers_without, head_outputs, layer_sets, replacements
from posym.measure.patching import (
    Pairs,
    counterfactual,
    counterfactual_pairs,
    effect_interval,
    patched_differences,
    patching_rows,
)
from posym.measure.restriction import (
    attention_weights,
    frozen_attention,
    interventions,
    only_planes,
    restricted_answers,
    restriction_rows,
)
from posym.model import Place, answer_logits, as_planes, prefix_of, untouched
from posym.tasks.base import Task
from posym.tasks.dataset import long_input_cores
from small import small_model, small_task


@pytest.fixture(params=["number", "letter"])
def one(request: pytest.FixtureRequest) -> Task:
    return small_task(request.param)


def test_doing_nothing_changes_no_bit(one: Task) -> None:
    parameters = small_model(one).to(dtype=torch.float32)
    tokens = torch.from_numpy(one.sample(np.random.default_rng(0), 40).tokens)
    plain = answer_logits(parameters, tokens)
    assert torch.equal(plain, answer_logits(parameters, tokens, intervene=untouched))
    shared = prefix_of(parameters, tokens[:, :5], untouched)
    assert torch.equal(
        answer_logits(parameters, tokens[:, 5:], prefix_of(parameters, tokens[:, :5])),
        answer_logits(parameters, tokens[:, 5:], shared, intervene=untouched),
    )
    outputs = head_outputs(parameters, tokens)
    own = answers_without(parameters, tokens, plain.argmax(-1), (0, 1, 2), outputs)
    assert own.all()


def test_hooks_show_what_they_say() -> None:
    task = small_task("number")
    parameters = small_model(task)
    tokens = torch.from_numpy(task.sample(np.random.default_rng(0), 4).tokens)
    seen: dict[tuple[int, Place], tuple[int, ...]] = {}

    def look(layer: int, place: Place, tensor: Tensor) -> Tensor:
        seen[layer, place] = tuple(tensor.shape)
        return tensor

    answer_logits(parameters, tokens, intervene=look)
    assert seen[0, "residual"] == seen[2, "residual"] == seen[1, "query"] == seen[1, "head"] == (4, 17, 16)
    assert seen[1, "attention"] == (4, 17, 17)
    assert seen[2, "attention"] == (4, 1, 17)
    assert seen[2, "query"] == seen[2, "head"] == (4, 1, 16)


def test_without_any_head_the_answer_is_a_guess(one: Task) -> None:
    """Only the query token is left then, and it does not say what the target window holds."""
    items = one.sample(np.random.default_rng(0), 400)
    parameters = small_model(one)
    tokens = torch.from_numpy(items.tokens)
    outputs = head_outputs(parameters, tokens)
    for kind in ("zero", "mean"):
        instead = replacements(outputs, kind, 0)

        def end(layer: int, place: Place, tensor: Tensor, instead: list[Tensor] = instead) -> Tensor:
            return instead[layer] if place == "head" else tensor

        logits = answer_logits(parameters, tokens, intervene=end)
        for query in tokens[:, -1].unique():
            assert len(logits[tokens[:, -1] == query].argmax(-1).unique()) == 1
        correct = answers_without(parameters, tokens, torch.from_numpy(items.answer), (0, 1, 2), instead)
        assert correct.mean() < 0.25


def test_replacements() -> None:
    outputs = [torch.randn(7, 3, 2, generator=torch.Generator().manual_seed(0)) for _ in range(2)]
    assert all((part == 0).all() for part in replacements(outputs, "zero", 0))
    mean = replacements(outputs, "mean", 0)[1]
    torch.testing.assert_close(mean[4], outputs[1].mean(0))
    other = replacements(outputs, "resample", 5)
    source = [(outputs[0] == other[0][item]).all(dim=(1, 2)).nonzero().item() for item in range(7)]
    assert sorted(source) == list(range(7))
    assert all(item != taken for item, taken in enumerate(source))
    assert torch.equal(other[1], outputs[1][source])


def test_ablation_rows(one: Task) -> None:
    items = one.sample(np.random.default_rng(0), 40)
    rows = ablate(small_model(one), items, ["zero", "mean"], ["mean"], samples=20, seed=0)
    assert len(rows) == 5 * (6 + 7)
    assert layer_sets(4, pairs=False)[4:] == [(0, 1), (0, 1, 2), (0, 1, 2, 3), (1, 2, 3), (2, 3)]
    assert layer_sets(3, pairs=True) == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    for row in rows:
        assert row["low"] <= row["accuracy"] <= row["high"]
        assert row["cost"] == pytest.approx(row["baseline"] - row["accuracy"])
        assert row["cost_low"] <= row["cost"] <= row["cost_high"]


@pytest.mark.parametrize("hop", [1, 2])
def test_counterfactual_changes_one_token_and_the_answer(one: Task, hop: int) -> None:
    items = one.sample(np.random.default_rng(1), 400)
    pairs = counterfactual_pairs(one, items, 2, hop, items=10, seed=0)
    assert 0 < len(pairs.answer) <= 10
    for row in range(len(pairs.answer)):
        original, changed = pairs.originals.tokens[row], pairs.tokens[row]
        assert np.flatnonzero(original != changed).tolist() == [pairs.originals.path[row, hop - 1]]
        found = one.solve(changed)
        assert found.answer == pairs.answer[row] != pairs.originals.answer[row]
        assert found.path[:hop] == tuple(pairs.originals.path[row, :hop])


def test_no_counterfactual() -> None:
    """A query that can only reach one slot: every other offset leaves the answer or the hop."""
    task = small_task("number")
    tokens = np.array([0] * 8 + [11 + k for k in (1, 1, 1, 1, 1, 1, 1, 1, 9)])
    assert counterfactual(task, tokens, np.array(task.solve(tokens).path), 1, np.random.default_rng(0)) is None


def test_patching_restores_nothing_or_everything_as_it_must(one: Task) -> None:
    parameters = small_model(one)
    items = one.sample(np.random.default_rng(1), 400)
    pairs = counterfactual_pairs(one, items, 2, 2, items=6, seed=0)
    clean, changed, patched = patched_differences(parameters, pairs, 2)
    assert not torch.allclose(clean, changed)
    # The only token that differs stands at path[1]: its embedding is all there is, path[0]'s is the same in both.
    torch.testing.assert_close(patched["residual", 0, 1], clean)
    torch.testing.assert_close(patched["residual", 0, 0], changed)
    # The last layer reads its own residual at the last slot and keys and values elsewhere; its head says nothing at path[1].
    torch.testing.assert_close(patched["head", 2, 1], changed)
    rows = patching_rows(2, 2, clean, changed, patched, samples=20, seed=0)
    effects = {(row["component"], row["layer"], row["slot"]): row["effect"] for row in rows}
    assert effects["residual", 0, 1] == pytest.approx(1)
    assert effects["residual", 0, 0] == pytest.approx(0, abs=1e-9)
    assert len(effects) == 2 * 3 * 2


def test_patching_an_input_into_itself_changes_nothing(one: Task) -> None:
    items = one.sample(np.random.default_rng(1), 40)
    some = items[np.flatnonzero(items.hops == 3)[:5]]
    clean, changed, patched = patched_differences(small_model(one), Pairs(some, some.tokens, (some.answer + 1) % 10), 3)
    for values in (changed, *patched.values()):
        torch.testing.assert_close(values, clean)


def test_effect_by_hand() -> None:
    weights = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    effect, low, high = effect_interval(np.array([2.0, 4.0]), np.array([0.0, 0.0]), np.array([1.0, 4.0]), weights)
    assert effect == pytest.approx(5 / 6)
    assert 0.5 <= low < effect < high <= 1.0


def test_high_and_low_planes_share_out_the_logit() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 3, 16, generator=generator), torch.randn(3, 16, generator=generator)
    high, low = (only_planes(frozenset({1}), which)(1, "query", query) for which in ("high", "low"))
    assert (as_planes(high)[..., 4:] == 0).all()
    assert (as_planes(low)[..., :4] == 0).all()
    torch.testing.assert_close(high @ key.T + low @ key.T, query @ key.T)
    assert only_planes(frozenset({1}), "high")(0, "query", query) is query
    assert only_planes(frozenset({1}), "high")(1, "head", query) is query


def test_frozen_attention_of_all_layers_gives_the_short_answer(one: Task) -> None:
    """With every layer's attention as in the bare core, extra tokens cannot matter; frozen nowhere, all is as it was."""
    parameters = small_model(one)
    test = one.sample(np.random.default_rng(0), 800)
    inputs = long_input_cores(one, test, items=16, prefixes=8, seed=0)
    long = one.extend(np.random.default_rng(0), inputs.cores, 30, inputs.prefix)
    core = torch.from_numpy(inputs.cores.tokens)
    short = answer_logits(parameters, core)
    weights = attention_weights(parameters, core)
    frozen = frozen_attention(frozenset(range(3)), weights)
    shared = prefix_of(parameters, torch.from_numpy(long[:, :30]))
    torch.testing.assert_close(answer_logits(parameters, core, shared, intervene=frozen), short)
    torch.testing.assert_close(answer_logits(parameters, core, intervene=frozen), short)
    correct = restricted_answers(parameters, long, short.argmax(-1).numpy(), 30, inputs.prefix, batch_tokens=100)
    assert set(correct) == set(interventions(3))
    assert correct["oracle-all"].all()
    plain = answer_logits(parameters, torch.from_numpy(long)).argmax(-1) == short.argmax(-1)
    assert (correct["none"] == plain.numpy()).all()
    assert not correct["none"].all()
    rows = restriction_rows(30, inputs.cores.hops, inputs.prefix, correct, samples=20, seed=0)
    assert len(rows) == 5 * len(correct)


def test_planes_are_taken_from_the_prefix_too() -> None:
    task = small_task("number")
    parameters = small_model(task)
    tokens = torch.from_numpy(task.sample(np.random.default_rng(0), 4).tokens)
    change = only_planes(frozenset(range(3)), "low")
    shared = prefix_of(parameters, tokens[:, :6], change)
    torch.testing.assert_close(
        answer_logits(parameters, tokens[:, 6:], shared, intervene=change),
        answer_logits(parameters, tokens, intervene=change),
    )
