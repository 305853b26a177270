"""Which device a stage computes on."""

from __future__ import annotations

import os

import torch

from posym import job
from posym.errors import InputError


def choose_device(wanted: str) -> str:
    """`cpu` or `cuda` for `auto`, `cpu` or `cuda`; `cuda` without a usable GPU raises `InputError`.

    `auto` takes the CPU where PyTorch sees no GPU, and warns where CUDA_VISIBLE_DEVICES says that one was given.
    """
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise InputError(
            "device: cuda is asked for, but PyTorch sees no GPU here: write device: auto or cpu, or run on a GPU node"
        )
    given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if wanted == "auto" and not available and given not in ("", "-1", "NoDevFiles"):
        job.log.warning(
            "this job was given GPU %s, but PyTorch %s sees none and computes on the CPU: compare its CUDA version with the "
            "node's driver, or write device: cuda to fail instead",
            given,
            torch.__version__,
        )
    return "cuda" if available and wanted != "cpu" else "cpu"
