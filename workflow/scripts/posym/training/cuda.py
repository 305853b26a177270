"""Training on one GPU: the same maths with autograd, each optimizer step one replay of a captured CUDA graph.

Everything a step needs lies on the device before the first one: data, the batch of every step, the learning rate of every
step. `run` reads nothing back until its last step is queued.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from posym.model import Parameters, Shape, as_planes, rotations
from posym.training.dropout import Masks, mask_size, masks_of
from posym.training.network import Block, Network, network_of
from posym.training.optimizer import update
from posym.training.recipe import Recipe

WARM_UP = 3  # uncaptured steps, in which CUDA libraries set themselves up


def answer_loss(
    network: Network, shape: Shape, turns: Tensor, tokens: Tensor, answers: Tensor, masks: Masks | None = None
) -> Tensor:
    """Mean cross-entropy, 0-d, of answers int64 [batch] after tokens int64 [batch, slots], on whichever device they lie.

    `turns` [slots, planes] are the slots' `posym.model.rotations`. Without masks nothing is dropped. The last layer is
    computed at the query slot alone, as in `posym.training.cpu`.
    """
    batch, slots = tokens.shape
    hidden = shape.hidden_size
    residual = _embedded(network.embedding, tokens)
    if masks is not None:
        residual = residual * masks.embedding.view(batch, slots, hidden)
    future = torch.full((slots, slots), float("-inf"), device=tokens.device, dtype=residual.dtype).triu(1)
    for layer, block in enumerate(network.blocks):
        queries = 1 if layer == shape.layers - 1 else slots
        normed = F.layer_norm(residual, [hidden], block.norm_gain, block.norm_bias, shape.layer_norm_epsilon)
        key, value, query, inner = _projections(block, normed, queries, hidden)
        key, query = _turned(key, turns), _turned(query, turns[-queries:])
        scores = query @ key.transpose(1, 2) / sqrt(hidden) + future[-queries:]
        probability = torch.softmax(scores, -1)
        if masks is not None:
            probability = probability * masks.layers[layer].attention
        attended = F.linear(probability @ value, block.attention_out)
        thought = F.linear(F.gelu(inner + block.mlp_in_bias, approximate="tanh"), block.mlp_out, block.mlp_out_bias)
        if masks is not None:
            attended = attended * masks.layers[layer].attention_out.view(batch, queries, hidden)
            thought = thought * masks.layers[layer].mlp_out.view(batch, queries, hidden)
        residual = residual[:, -queries:] + attended + thought
    normed = F.layer_norm(residual[:, -1], [hidden], network.norm_gain, network.norm_bias, shape.layer_norm_epsilon)
    return F.cross_entropy(F.linear(normed, network.head, network.head_bias).to(network.head.dtype), answers)


def _embedded(embedding: Tensor, tokens: Tensor) -> Tensor:
    """Embedding as a product with one-hot rows: its backward adds up in a fixed order and never waits for the host."""
    one_hot = tokens[..., None] == torch.arange(len(embedding), device=tokens.device)
    with torch.autocast(tokens.device.type, enabled=False):
        return one_hot.to(embedding.dtype) @ embedding


def _projections(block: Block, normed: Tensor, queries: int, hidden: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Key and value [batch, slots, hidden], query [batch, queries, hidden], fc_in without its bias [batch, queries, mlp]."""
    if queries == normed.shape[1]:
        stacked = F.linear(normed, block.projections)
        for_slots, for_queries = stacked[..., : 2 * hidden], stacked[..., 2 * hidden :]
    else:
        for_slots = F.linear(normed, block.projections[: 2 * hidden])
        for_queries = F.linear(normed[:, -queries:], block.projections[2 * hidden :])
    key, value = for_slots.unflatten(-1, (2, hidden)).unbind(-2)
    return key, value, for_queries[..., :hidden], for_queries[..., hidden:]


def _turned(vectors: Tensor, turns: Tensor) -> Tensor:
    """RoPE, in the precision of `turns` (complex numbers have no bfloat16)."""
    return torch.view_as_real(as_planes(vectors.to(turns.real.dtype)) * turns).flatten(-2).to(vectors.dtype)


class CudaEngine:
    """Optimizer steps of one model on one GPU, with the interface of `posym.training.cpu.CpuEngine`.

    `parameters` and `moments` stay float32 and must lie on the GPU; `autocast` is torch.bfloat16 for products in that
    precision, or None for float32 throughout (without TF32). The masks of step s come from a generator that is seeded anew,
    by (seed, s), before each replay, and no operation of a step adds up in an order left to chance: a resumed run repeats
    an uninterrupted one on the same device and library versions. Its masks differ from the CPU engine's in the draws, not
    in distribution. On a CPU the same code runs without a graph, which is how the tests hold it against `CpuEngine`.
    """

    def __init__(
        self,
        parameters: Parameters,
        tokens: Tensor,
        answers: Tensor,
        recipe: Recipe,
        moments: tuple[Tensor, Tensor] | None = None,
        *,
        autocast: torch.dtype | None = None,
    ) -> None:
        flat = parameters.flat
        device = flat.device
        self.parameters = parameters
        self.moments = (torch.zeros_like(flat), torch.zeros_like(flat)) if moments is None else moments
        self.recipe = recipe
        self.autocast = autocast
        self.gradient = Parameters(parameters.shape, torch.zeros_like(flat))
        self._leaves = network_of(parameters, leaves=True)
        self._tokens = tokens.to(device=device, dtype=torch.int32)
        self._answers = answers.to(device=device, dtype=torch.int64)
        self._slots = tokens.shape[1]
        # Made here, because a captured step may not copy from the host.
        self._turns = rotations(torch.arange(self._slots, device=device), parameters.shape.planes, flat.dtype)
        self._mask_size = mask_size(parameters.shape, recipe.batch_size, self._slots)
        order = np.stack([recipe.batch_rows(step, len(tokens)) for step in range(recipe.steps)])
        self._order = torch.from_numpy(order).to(device)  # [steps, batch]
        rates = [recipe.learning_rate_at(step) for step in range(recipe.steps)]
        self._rates = torch.tensor(rates, dtype=torch.float32, device=device)
        self._losses = torch.zeros(recipe.steps, device=device)
        self._norms = torch.zeros(recipe.steps, device=device)
        self._step = torch.zeros(1, dtype=torch.int64, device=device)  # the step that comes next
        self._generator = torch.Generator(device)
        self._graph: torch.cuda.CUDAGraph | None = None

    def run(self, start: int, stop: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Do optimizer steps start .. stop-1; gives each one's loss and its gradient norm before clipping, float32 [steps]."""
        if self._graph is None and self._step.is_cuda:
            self._graph = self._captured()
        self._step.fill_(start)
        for step in range(start, stop):
            self._generator.manual_seed(self.recipe.dropout_seed(step))
            if self._graph is None:
                self.one_step()
            else:
                self._graph.replay()
        return self._losses[start:stop].cpu().numpy().copy(), self._norms[start:stop].cpu().numpy().copy()

    def one_step(self) -> None:
        """The step that `_step` names, with device operations only: what the graph captures."""
        rows = self._order.index_select(0, self._step).view(-1)
        tokens, answers = self._tokens.index_select(0, rows).long(), self._answers.index_select(0, rows)
        loss = self.loss_and_gradient(tokens, answers, self._draw_masks())
        with torch.no_grad():
            rate = self._rates.index_select(0, self._step).view(())
            done = self._step.to(torch.float32).view(())
            norm = update(self.parameters, self.gradient.flat, self.moments, done, rate, self.recipe)
            self._losses.index_copy_(0, self._step, loss.view(1).to(self._losses.dtype))
            self._norms.index_copy_(0, self._step, norm.view(1).to(self._norms.dtype))
            self._step += 1

    def loss_and_gradient(self, tokens: Tensor, answers: Tensor, masks: Masks | None) -> Tensor:
        """The loss, 0-d and detached; fills `gradient`."""
        # Weights are cast once a step: a cache that outlives the captured region would hold memory of the graph's pool.
        with torch.autocast(
            self._step.device.type, dtype=self.autocast, enabled=self.autocast is not None, cache_enabled=False
        ):
            loss = answer_loss(self._leaves, self.parameters.shape, self._turns, tokens, answers, masks)
        parts = torch.autograd.grad(loss, self._leaves.in_order())
        torch.cat([part.reshape(-1) for part in parts], out=self.gradient.flat)
        return loss.detach()

    def _draw_masks(self) -> Masks | None:
        dropout = self.recipe.dropout
        if dropout == 0:
            return None
        draws = torch.rand(
            self._mask_size, generator=self._generator, device=self._step.device, dtype=self.parameters.flat.dtype
        )
        factors = draws.ge_(dropout).mul_(1 / (1 - dropout))
        return masks_of(factors, self.parameters.shape, self.recipe.batch_size, self._slots)

    def _captured(self) -> torch.cuda.CUDAGraph:
        """One step as a CUDA graph. Capturing must leave no trace, so the warm-up's updates are taken back."""
        torch.set_float32_matmul_precision("highest")  # no TF32
        kept = [tensor.clone() for tensor in (self.parameters.flat, *self.moments)]
        self._step.zero_()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(min(WARM_UP, self.recipe.steps)):
                self.one_step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._generator)
        with torch.cuda.graph(graph):
            self.one_step()
        for tensor, value in zip((self.parameters.flat, *self.moments), kept, strict=True):
            tensor.copy_(value)
        return graph
