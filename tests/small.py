"""The paper's tasks, small ones, and random models for tests: no training, yet attention far from uniform."""

from __future__ import annotations

import torch

from posym.model import Parameters, Shape, initial_parameters
from posym.tasks import make_task
from posym.tasks.base import Task

SIZES = {"target_window": 8, "pre_target_window": 8, "hops": 4}
ALPHABETS = {"number": {"letters": 120}, "letter": {"letters": 8, "integers": 8}}  # the paper's
FEW_LETTERS = 12


def small_task(name: str) -> Task:
    """A task with the paper's windows and, for `number`, fewer letters."""
    return make_task(name, SIZES, {"letters": FEW_LETTERS} if name == "number" else ALPHABETS[name])


def small_model(task: Task, layers: int = 3, seed: int = 0) -> Parameters:
    """Random parameters in float64, large enough that what each head sees matters to the answer."""
    shape = Shape(len(task.vocabulary.tokens), layers=layers, hidden_size=16, mlp_size=32, positions=256)
    parameters = initial_parameters(shape, seed=seed, standard_deviation=0.4).to(dtype=torch.float64)
    for name, tensor in parameters.named.items():
        if "q_proj" in name or "k_proj" in name:
            tensor.mul_(2.0)
    return parameters


def sharp_parameters(shape: Shape, seed: int = 0, scale: float = 6.0) -> Parameters:
    """Random float32 parameters large enough that attention is far from uniform."""
    parameters = initial_parameters(shape, seed=seed, standard_deviation=0.02)
    for name, tensor in parameters.named.items():
        if "proj" in name or "wte" in name:
            tensor.mul_(scale)
    return parameters
