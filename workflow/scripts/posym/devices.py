"""Which device a stage computes on."""

from __future__ import annotations

import torch

from posym.errors import InputError


def choose_device(wanted: str) -> str:
    """`cpu` or `cuda` for `auto`, `cpu` or `cuda`; `cuda` without a usable GPU raises `InputError`."""
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise InputError(
            "device: cuda is asked for, but PyTorch sees no GPU here: write device: auto or cpu, or run on a GPU node"
        )
    return "cuda" if available and wanted != "cpu" else "cpu"
