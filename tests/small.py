"""Small tasks and random models for tests of measurements: no training, yet attention far from uniform."""

from __future__ import annotations

import torch

from posym.model import Parameters, Shape, initial_parameters
from posym.tasks import make_task
from posym.tasks.base import Task

SIZES = {"target_window": 8, "pre_target_window": 8, "hops": 4}
ALPHABETS = {"number": {"letters": 12}, "letter": {"letters": 8, "integers": 8}}


def small_task(name: str) -> Task:
    """A task with the paper's windows and, for `number`, fewer letters."""
    return make_task(name, SIZES, ALPHABETS[name])


def small_model(task: Task, layers: int = 3, seed: int = 0) -> Parameters:
    """Random parameters in float64, large enough that what each head sees matters to the answer."""
    shape = Shape(len(task.vocabulary.tokens), layers=layers, hidden_size=16, mlp_size=32, positions=256)
    parameters = initial_parameters(shape, seed=seed, standard_deviation=0.4).to(dtype=torch.float64)
    for name, tensor in parameters.named.items():
        if "q_proj" in name or "k_proj" in name:
            tensor.mul_(2.0)
    return parameters
