"""What several test files share: small tasks and models."""

from __future__ import annotations

import pytest
import torch

from posym.model import Parameters, Shape, initial_parameters
from posym.tasks import make_task
from posym.tasks.base import Task

torch.set_num_threads(1)
SIZES = {"target_window": 8, "pre_target_window": 8, "hops": 4}
ALPHABETS = {"number": {"letters": 120}, "letter": {"letters": 8, "integers": 8}}


@pytest.fixture(params=["number", "letter"])
def task(request: pytest.FixtureRequest) -> Task:
    """Each of the paper's tasks at the paper's sizes."""
    return make_task(request.param, SIZES, ALPHABETS[request.param])


def sharp_parameters(shape: Shape, seed: int = 0, scale: float = 6.0) -> Parameters:
    """Random parameters large enough that attention is far from uniform."""
    parameters = initial_parameters(shape, seed=seed, standard_deviation=0.02)
    for name, tensor in parameters.named.items():
        if "proj" in name or "wte" in name:
            tensor.mul_(scale)
    return parameters
