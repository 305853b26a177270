"""One AdamW step on flat tensors, the same on a CPU and on a GPU."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from posym.model import Parameters
from posym.training.recipe import Recipe


def update(
    parameters: Parameters,
    gradient: Tensor,
    moments: tuple[Tensor, Tensor],
    steps_done: Tensor,
    learning_rate: float | Tensor,
    recipe: Recipe,
) -> Tensor:
    """Clip the flat `gradient`, move `parameters` and `moments` in place; gives the norm before clipping, 0-d.

    Clipping is `clip_grad_norm_`, the step `torch.optim.AdamW` with weight decay on the matrices only. `steps_done` (0-d
    float32) is how many steps the moments have seen; it is not changed. No value is read back to the host.
    """
    norm: Tensor = torch.linalg.vector_norm(gradient)
    gradient.mul_((recipe.gradient_clip / (norm + 1e-6)).clamp(max=1.0))
    matrices = slice(None, parameters.matrix_size)
    vectors = slice(parameters.matrix_size, None)
    for part, weight_decay in ((matrices, recipe.weight_decay), (vectors, 0.0)):
        adamw(
            [parameters.flat[part]],
            [gradient[part]],
            [moments[0][part]],
            [moments[1][part]],
            [],
            [steps_done.clone()],  # the fused kernel counts up
            fused=True,
            amsgrad=False,
            beta1=recipe.betas[0],
            beta2=recipe.betas[1],
            lr=learning_rate,
            weight_decay=weight_decay,
            eps=recipe.epsilon,
            maximize=False,
        )
    return norm
