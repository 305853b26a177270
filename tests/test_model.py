"""Our forward pass and checkpoints against transformers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import GPTJForCausalLM

from posym.errors import InputError
from posym.model import (
    Parameters,
    Shape,
    answer_logits,
    initial_parameters,
    load_checkpoint,
    plane_angles,
    prefix_of,
    save_checkpoint,
)
from small import sharp_parameters

PAPER = Shape(vocabulary=136, layers=12, hidden_size=128, mlp_size=512, positions=5120)
SMALL = Shape(vocabulary=20, layers=2, hidden_size=16, mlp_size=24, positions=64)


@pytest.fixture(scope="module")
def paper_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Parameters, GPTJForCausalLM]:
    folder = tmp_path_factory.mktemp("model") / "step-00000"
    parameters = sharp_parameters(PAPER, scale=3.0)
    save_checkpoint(parameters, folder, dropout=0.1)
    model, notes = GPTJForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(notes.values())
    return parameters, model.eval()


@pytest.mark.parametrize(("batch", "slots"), [(16, 17), (2, 850)])
def test_logits_equal_transformers(paper_model: tuple[Parameters, GPTJForCausalLM], batch: int, slots: int) -> None:
    parameters, model = paper_model
    tokens = torch.randint(0, PAPER.vocabulary, (batch, slots), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        wanted = model(tokens).logits[:, -1]
        found = answer_logits(parameters, tokens)
        prefixed = answer_logits(parameters, tokens[:, -5:], prefix_of(parameters, tokens[:, :-5]))
    assert wanted.std() > 0.1
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
    torch.testing.assert_close(prefixed, wanted, atol=1e-5, rtol=0)


def test_the_papers_model_has_2_40_million_parameters_and_its_angles() -> None:
    for vocabulary in (136, 128):
        shape = Shape(vocabulary, 12, 128, 512, 5120)
        assert initial_parameters(shape, seed=0, standard_deviation=0.02).flat.numel() == pytest.approx(
            2.40e6, rel=0.003
        )
    angles = plane_angles(64)
    table = {1: 1.0, 2: 0.866, 10: 0.2738, 18: 0.0866, 32: 0.0115, 42: 0.0027, 37: 0.0056, 40: 0.0037}  # paper, Table 1
    for plane, angle in table.items():
        assert angles[plane - 1].item() == pytest.approx(angle, abs=6e-5)


def test_initial_parameters_follow_transformers() -> None:
    parameters = initial_parameters(PAPER, seed=3, standard_deviation=0.02)
    matrices = parameters.flat[: parameters.matrix_size]
    assert matrices.std().item() == pytest.approx(0.02, rel=0.01)
    for name, tensor in parameters.named.items():
        if tensor.ndim == 1:
            assert (tensor == (1.0 if name.endswith("weight") else 0.0)).all(), name
    assert torch.equal(parameters.flat, initial_parameters(PAPER, seed=3, standard_deviation=0.02).flat)
    assert not torch.equal(parameters.flat, initial_parameters(PAPER, seed=4, standard_deviation=0.02).flat)


def test_checkpoint_returns_bit_for_bit(tmp_path: Path) -> None:
    parameters = sharp_parameters(SMALL)
    digest = save_checkpoint(parameters, tmp_path / "step", dropout=0.0)
    assert torch.equal(load_checkpoint(tmp_path / "step", digest).flat, parameters.flat)


@pytest.mark.parametrize("fault", ["truncated", "flipped", "missing", "no config", "other architecture", "other sizes"])
def test_bad_checkpoints_are_refused_in_one_sentence(tmp_path: Path, fault: str) -> None:
    folder = tmp_path / "step"
    digest: str | None = save_checkpoint(sharp_parameters(SMALL), folder, dropout=0.0)
    weights, config = folder / "model.safetensors", folder / "config.json"
    content = weights.read_bytes()
    if fault == "truncated":
        weights.write_bytes(content[: len(content) // 2])
        digest = None
    elif fault == "flipped":
        weights.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    elif fault == "missing":
        weights.unlink()
    elif fault == "no config":
        config.unlink()
    elif fault == "other architecture":
        config.write_text(json.dumps(json.loads(config.read_text()) | {"model_type": "llama"}))
    else:
        config.write_text(json.dumps(json.loads(config.read_text()) | {"n_inner": 48}))
    with pytest.raises(InputError) as caught:
        load_checkpoint(folder, digest)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
