"""A GPU that is there and cannot be used is not passed over in silence."""

from __future__ import annotations

import pytest
import torch

from posym import job
from posym.devices import choose_device
from posym.errors import InputError


@pytest.mark.parametrize(
    ("wanted", "seen", "given", "chosen", "warned"),
    [
        ("auto", False, "0", "cpu", True),
        ("auto", False, "GPU-8a56a4bc,1", "cpu", True),
        ("auto", False, None, "cpu", False),
        ("auto", False, "", "cpu", False),
        ("auto", False, "-1", "cpu", False),
        ("auto", False, "NoDevFiles", "cpu", False),  # what SLURM sets for a job without a GPU
        ("auto", True, "0", "cuda", False),
        ("cpu", False, "0", "cpu", False),
        ("cpu", True, "0", "cpu", False),
        ("cuda", True, "0", "cuda", False),
    ],
)
def test_the_device_and_the_warning(
    monkeypatch: pytest.MonkeyPatch,
    wanted: str,
    seen: bool,
    given: str | None,
    chosen: str,
    warned: bool,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: seen)
    said: list[str] = []  # whatever another test in this process did to logging
    monkeypatch.setattr(job.log, "warning", lambda message, *values: said.append(message % values))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if given is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    assert choose_device(wanted) == chosen
    assert [f"given GPU {given}" in message for message in said] == [True] * warned


def test_cuda_without_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="PyTorch sees no GPU here: write device: auto or cpu"):
        choose_device("cuda")
