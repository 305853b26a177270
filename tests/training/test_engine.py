"""The training engines against transformers' GPT-J, against each other, and against themselves after a stop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import GPTJConfig, GPTJForCausalLM, get_linear_schedule_with_warmup

from posym.model import Parameters, Shape, initial_parameters, plane_angles, rotations
from posym.training import cpu
from posym.training.cpu import CpuEngine
from posym.training.cuda import CudaEngine, answer_loss
from posym.training.network import network_of
from posym.training.recipe import Recipe

SMALL = Shape(vocabulary=19, layers=3, hidden_size=16, mlp_size=48, positions=32)
PAPER = Shape(vocabulary=136, layers=12, hidden_size=128, mlp_size=512, positions=32)
RECIPE = Recipe(
    steps=60,
    batch_size=8,
    learning_rate=3e-3,
    warmup_steps=10,
    betas=(0.95, 0.999),
    epsilon=1e-8,
    weight_decay=0.05,
    gradient_clip=1.0,
    dropout=0.1,
    seed=3,
)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def weights(shape: Shape, dtype: torch.dtype = torch.float32) -> Parameters:
    """Parameters at which every part of the model matters: biases and LayerNorms off their initial values."""
    parameters = initial_parameters(shape, seed=1, standard_deviation=0.3 if shape is SMALL else 0.05)
    generator = torch.Generator().manual_seed(2)
    vectors = parameters.flat[parameters.matrix_size :]
    vectors += 0.1 * torch.randn(vectors.shape, generator=generator)
    return parameters.to(dtype=dtype)


def data(shape: Shape, rows: int, slots: int = 17) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(4)
    tokens = torch.randint(0, shape.vocabulary, (rows, slots), generator=generator)
    return tokens.to(torch.uint16), torch.randint(0, shape.vocabulary, (rows,), generator=generator)


def copied(parameters: Parameters) -> Parameters:
    return Parameters(parameters.shape, parameters.flat.clone())


def engine_at(parameters: Parameters, recipe: Recipe, rows: int = 50) -> CpuEngine:
    return CpuEngine(copied(parameters), *data(parameters.shape, rows), recipe)


def peer(parameters: Parameters, dropout: float = 0.0) -> GPTJForCausalLM:
    """transformers' model with the same weights; in float64 with rotary angles to match."""
    shape, dtype = parameters.shape, parameters.flat.dtype
    config = GPTJConfig(
        vocab_size=shape.vocabulary,
        n_positions=shape.positions,
        n_embd=shape.hidden_size,
        n_layer=shape.layers,
        n_head=1,
        n_inner=shape.mlp_size,
        rotary_dim=shape.hidden_size,
        activation_function="gelu_new",
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        resid_pdrop=dropout,
        layer_norm_epsilon=shape.layer_norm_epsilon,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="sdpa",
    )
    model = GPTJForCausalLM(config).to(dtype)
    model.load_state_dict({name: tensor.clone() for name, tensor in parameters.named.items()})
    if dtype == torch.float64:
        angles = torch.arange(shape.positions, dtype=dtype)[:, None] * plane_angles(shape.planes)
        model.transformer.rotary_emb.embed_positions = torch.cat([angles.sin(), angles.cos()], dim=1)
    return model.train(dropout > 0)


def peer_loss(model: GPTJForCausalLM, tokens: Tensor, answers: Tensor) -> Tensor:
    return F.cross_entropy(model(tokens.long()).logits[:, -1], answers)


def test_parameter_layout_stacks_what_reads_the_same_input() -> None:
    parameters = weights(SMALL)
    stacked = network_of(parameters).blocks[1].projections
    parts = [
        parameters[f"transformer.h.1.{name}.weight"]
        for name in ("attn.k_proj", "attn.v_proj", "attn.q_proj", "mlp.fc_in")
    ]
    assert torch.equal(stacked, torch.cat(parts))
    in_order = torch.cat([tensor.reshape(-1) for tensor in network_of(parameters).in_order()])
    assert torch.equal(in_order, parameters.flat)


def test_schedule_is_transformers() -> None:
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=RECIPE.learning_rate)
    schedule = get_linear_schedule_with_warmup(optimizer, RECIPE.warmup_steps, RECIPE.steps)
    for step in range(RECIPE.steps + 3):
        assert RECIPE.learning_rate_at(step) == schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
    assert RECIPE.learning_rate_at(0) == 0


def test_every_epoch_sees_every_row_once() -> None:
    rows, epochs = 50, 8
    order = np.concatenate([RECIPE.batch_rows(step, rows) for step in range(rows * epochs // RECIPE.batch_size)])
    assert order.dtype == np.int64
    permutations = order.reshape(epochs, rows)
    assert (np.sort(permutations) == np.arange(rows)).all()
    assert len({tuple(permutation) for permutation in permutations}) == epochs
    assert (RECIPE.batch_rows(7, rows) == order[56:64]).all()  # whatever was asked for before
    assert (replace(RECIPE, seed=4).batch_rows(7, rows) != order[56:64]).any()
    assert len({RECIPE.dropout_seed(step) for step in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("shape", "batch", "dtype", "tolerance"),
    [
        (SMALL, 8, torch.float32, 1e-5),
        (SMALL, 8, torch.float64, 1e-12),
        (PAPER, 64, torch.float32, 1e-5),
        (PAPER, 64, torch.float64, 1e-9),
    ],
)
def test_gradient_is_autograds(shape: Shape, batch: int, dtype: torch.dtype, tolerance: float) -> None:
    parameters = weights(shape, dtype)
    tokens, answers = data(shape, batch)
    engine = CpuEngine(parameters, tokens, answers, replace(RECIPE, batch_size=batch, dropout=0.0))
    loss = engine.loss_and_gradient(tokens.long(), answers)
    model = peer(parameters)
    expected = peer_loss(model, tokens, answers)
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=tolerance)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        error = (engine.gradient[name] - parameter.grad).abs().max() / parameter.grad.abs().max()
        assert error < tolerance, name


def test_gradient_without_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = engine_at(weights(SMALL), RECIPE), engine_at(weights(SMALL), RECIPE)
    losses, norms = first.run(0, 10)
    monkeypatch.setattr(cpu, "ONEDNN", False)
    others = second.run(0, 10)
    np.testing.assert_allclose(losses, others[0], rtol=1e-5)
    np.testing.assert_allclose(norms, others[1], rtol=1e-4)


def test_fifty_steps_are_transformers() -> None:
    recipe = replace(RECIPE, dropout=0.0)
    parameters = weights(SMALL)
    tokens, answers = data(SMALL, 50)
    losses, norms = engine_at(parameters, recipe).run(0, 50)

    model = peer(parameters)
    matrices = [parameter for parameter in model.parameters() if parameter.ndim == 2]
    vectors = [parameter for parameter in model.parameters() if parameter.ndim == 1]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=recipe.betas, eps=recipe.epsilon)
    schedule = get_linear_schedule_with_warmup(optimizer, recipe.warmup_steps, recipe.steps)
    for step in range(50):
        rows = torch.from_numpy(recipe.batch_rows(step, 50))
        loss = peer_loss(model, tokens[rows], answers[rows])
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.gradient_clip)
        optimizer.step()
        schedule.step()
        assert losses[step] == pytest.approx(loss.item(), abs=1e-5)
        assert norms[step] == pytest.approx(norm.item(), rel=1e-4)
    assert (norms > recipe.gradient_clip).any()  # so clipping was at work


def test_masks_keep_the_share_they_should() -> None:
    engine = engine_at(weights(PAPER), replace(RECIPE, batch_size=64))
    engine.draw_masks(11)
    flat = engine._masks_flat
    values, counts = flat.unique(return_counts=True)
    share = round(0.1 * cpu.DRAWS) / cpu.DRAWS
    assert values.tolist() == pytest.approx([0, 1 / (1 - share)])
    deviation = sqrt(share * (1 - share) / flat.numel())
    assert counts[0].item() / flat.numel() == pytest.approx(share, abs=5 * deviation)


def test_gradient_with_dropout_is_autograds_with_the_same_masks() -> None:
    """The reference is the GPU engine's forward: plain operations and autograd."""
    parameters = weights(SMALL, torch.float64)
    tokens, answers = data(SMALL, 8)
    engine = CpuEngine(parameters, tokens, answers, replace(RECIPE, dropout=0.3))
    engine.draw_masks(5)
    loss = engine.loss_and_gradient(tokens.long(), answers)
    leaves = network_of(parameters, leaves=True)
    turns = rotations(torch.arange(17), SMALL.planes, torch.float64)
    expected = answer_loss(leaves, SMALL, turns, tokens.long(), answers, engine._masks)
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    gradients = torch.autograd.grad(expected, leaves.in_order())
    for ours, theirs in zip(network_of(engine.gradient).in_order(), gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_dropout_distribution_is_transformers() -> None:
    """Each of the four places at the same rate: mean and spread of the loss over masks agree at fixed weights."""
    draws, rate = 600, 0.3
    parameters = weights(SMALL)
    tokens, answers = data(SMALL, 8)
    engine = CpuEngine(parameters, tokens, answers, replace(RECIPE, dropout=rate))
    ours = []
    for seed in range(draws):
        engine.draw_masks(seed)
        ours.append(engine.loss_and_gradient(tokens.long(), answers))
    model = peer(parameters, rate)
    torch.manual_seed(0)
    with torch.no_grad():
        theirs = [peer_loss(model, tokens, answers).item() for _ in range(draws)]
    error = sqrt((np.var(ours) + np.var(theirs)) / draws)
    assert abs(np.mean(ours) - np.mean(theirs)) < 3.5 * error
    assert abs(np.log(np.std(ours) / np.std(theirs))) < 3.5 / sqrt(draws)
    assert abs(np.mean(ours) - peer_loss(peer(parameters), tokens, answers).item()) > 3.5 * error  # the test has power


@pytest.mark.parametrize("kind", [CpuEngine, CudaEngine])
def test_stop_and_resume_bit_for_bit(kind: Callable[..., CpuEngine | CudaEngine]) -> None:
    tokens, answers = data(SMALL, 50)
    whole = kind(weights(SMALL), tokens, answers, RECIPE, None)
    expected = [np.concatenate(values) for values in zip(whole.run(0, 20), whole.run(20, 40), strict=True)]
    again = kind(weights(SMALL), tokens, answers, RECIPE, None)
    np.testing.assert_array_equal(again.run(0, 40), expected)

    part = kind(weights(SMALL), tokens, answers, RECIPE, None)
    part.run(0, 20)
    moments = (part.moments[0].clone(), part.moments[1].clone())
    rest = kind(copied(part.parameters), tokens, answers, RECIPE, moments)
    np.testing.assert_array_equal(rest.run(20, 40), [values[20:] for values in expected])
    assert torch.equal(rest.parameters.flat, whole.parameters.flat)
    assert torch.equal(rest.moments[1], whole.moments[1])


def test_gpu_engine_without_its_graph_is_the_cpu_engine() -> None:
    recipe = replace(RECIPE, dropout=0.0)
    tokens, answers = data(SMALL, 50)
    ours = CpuEngine(weights(SMALL), tokens, answers, recipe)
    theirs = CudaEngine(weights(SMALL), tokens, answers, recipe)
    for first, second in zip(ours.run(0, 30), theirs.run(0, 30), strict=True):
        np.testing.assert_allclose(first, second, rtol=2e-4, atol=1e-5)
    coarse = CudaEngine(weights(SMALL), tokens, answers, recipe, autocast=torch.bfloat16)
    np.testing.assert_allclose(coarse.run(0, 3)[0], theirs._losses[:3], rtol=0.05)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_gpu_graph_is_the_cpu_engine() -> None:
    recipe = replace(RECIPE, dropout=0.0)
    tokens, answers = data(SMALL, 50)
    ours = CpuEngine(weights(SMALL), tokens, answers, recipe)
    theirs = CudaEngine(weights(SMALL).to(device="cuda"), tokens, answers, recipe)
    for first, second in zip(ours.run(0, 30), theirs.run(0, 30), strict=True):
        np.testing.assert_allclose(first, second, rtol=2e-4, atol=1e-5)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_does_not_grow() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    engine = engine_at(weights(SMALL), replace(RECIPE, steps=1000))
    engine.run(0, 200)
    before = resident()
    engine.run(200, 700)
    assert resident() - before < 1 << 20  # a leak of one activation a step would be 12 MB
