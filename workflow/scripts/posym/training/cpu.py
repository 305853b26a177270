"""Training on one CPU core: forward and backward of the one-head GPT-J written out, without autograd.

The model is paper section 3: parallel attention and MLP behind one LayerNorm, RoPE over the whole head, tanh GELU, dropout
at transformers' four places. Only the query slot's answer enters the loss, so the last layer runs at the query slot alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from posym.model import Parameters, as_planes, rotations
from posym.training.dropout import mask_size, masks_of
from posym.training.network import network_of
from posym.training.optimizer import update
from posym.training.recipe import Recipe

DRAWS = 1 << 16  # a mask value is one 16-bit draw, so the dropout probability is rounded to a multiple of 1 / DRAWS
GELU_LINEAR = 2 * sqrt(2 / pi)  # tanh GELU is u * sigmoid(GELU_LINEAR * u + GELU_CUBIC * u^3)
GELU_CUBIC = GELU_LINEAR * 0.044715


def _onednn_works() -> bool:
    """Whether this build of PyTorch multiplies float32 matrices with oneDNN."""
    try:
        one = torch.ones(1, 1)
        return bool(torch.ops.mkldnn._linear_pointwise(one, one, None, "none", [], "") == one)
    except (AttributeError, RuntimeError):
        return False


# oneDNN uses AVX-512 on every CPU that has it, MKL (behind torch.mm) only on Intel's; elsewhere that is twice the speed.
ONEDNN = _onednn_works()


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left [n, k] @ right [k, m] + bias [m]."""
    if ONEDNN and left.dtype == torch.float32:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(left, right.t(), bias, "none", [], "")
        return result
    return torch.mm(left, right) if bias is None else torch.addmm(bias, left, right)


def _norm_backward(
    grad: Tensor,
    vectors: Tensor,
    saved: tuple[Tensor, Tensor, Tensor],
    weights: tuple[Tensor, Tensor],
    gradients: tuple[Tensor, Tensor],
) -> Tensor:
    """Backward of a LayerNorm of `vectors` [rows, hidden]: fills the gradients of gain and bias, returns that of the input.

    `saved` is what `torch.native_layer_norm` returned: the result, each row's mean and reciprocal deviation.
    """
    below: Tensor
    below, gain, bias = torch.ops.aten.native_layer_norm_backward(
        grad, vectors, [vectors.shape[1]], saved[1], saved[2], *weights, [True, True, True]
    )
    gradients[0].copy_(gain)
    gradients[1].copy_(bias)
    return below


@dataclass(frozen=True)
class LayerMemory:
    """What the forward pass of a layer leaves for its backward pass; `queries` is 1 in the last layer, else slots."""

    key: Tensor  # [batch, slots, hidden], after RoPE
    value: Tensor  # [batch, slots, hidden]
    query: Tensor  # [batch, queries, hidden], after RoPE
    probability: Tensor  # [batch, queries, slots], before dropout
    kept: Tensor  # the same after dropout
    context: Tensor  # [batch, queries, hidden]
    active: Tensor  # [batch * queries, mlp], after GELU
    slope: Tensor  # the derivative of GELU there
    projection_bias: Tensor  # [3 hidden + mlp], zero but for fc_in's


class CpuEngine:
    """Optimizer steps of one model on one core.

    `parameters` (float32; float64 works too, at torch.mm's speed) are updated in place, and so are `moments`, AdamW's first
    and second as two flat tensors (None: zeros). `tokens` [rows, slots] and `answers` [rows] are the training set, any
    integer dtype. A step is a function of parameters, moments, data, recipe and step number, bit for bit, on one machine
    with one thread count: to resume, hand over copies of `parameters.flat` and `moments`.
    """

    def __init__(
        self,
        parameters: Parameters,
        tokens: Tensor,
        answers: Tensor,
        recipe: Recipe,
        moments: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        flat = parameters.flat
        self.parameters = parameters
        self.moments = (torch.zeros_like(flat), torch.zeros_like(flat)) if moments is None else moments
        self.tokens, self.answers, self.recipe = tokens, answers, recipe
        self.gradient = Parameters(parameters.shape, torch.zeros_like(flat))
        self._weights = network_of(parameters)
        self._gradients = network_of(self.gradient)
        self._slots = slots = tokens.shape[1]
        self._batch = batch = recipe.batch_size
        shape = parameters.shape
        self._epsilon = shape.layer_norm_epsilon
        self._scale = 1 / sqrt(shape.hidden_size)
        self._one = flat.new_ones(())
        self._gelu_linear = flat.new_full((), GELU_LINEAR)
        self._turns = rotations(torch.arange(slots), shape.planes, flat.dtype)
        self._future = flat.new_full((slots, slots), float("-inf")).triu(1)  # added to scores: no slot sees a later one

        self._masks_flat = flat.new_ones(mask_size(shape, batch, slots))
        self._masks = masks_of(self._masks_flat, shape, batch, slots)
        self._residuals = flat.new_empty(shape.layers, batch * slots, shape.hidden_size)
        self._norms: dict[int, tuple[Tensor, Tensor, Tensor]] = {}  # by layer: normed, mean, reciprocal deviation
        self._memories = [self._memory(1 if layer == shape.layers - 1 else slots) for layer in range(shape.layers)]
        self._scratch = flat.new_empty(batch * slots, shape.mlp_size)
        self._stacked_gradient = flat.new_empty(batch * slots, 3 * shape.hidden_size + shape.mlp_size)
        self._ones = flat.new_ones(batch * slots)

    def _memory(self, queries: int) -> LayerMemory:
        empty, batch, slots = self.parameters.flat.new_empty, self._batch, self._slots
        hidden, mlp = self.parameters.shape.hidden_size, self.parameters.shape.mlp_size
        return LayerMemory(
            key=empty(batch, slots, hidden),
            value=empty(batch, slots, hidden),
            query=empty(batch, queries, hidden),
            probability=empty(batch, queries, slots),
            kept=empty(batch, queries, slots),
            context=empty(batch, queries, hidden),
            active=empty(batch * queries, mlp),
            slope=empty(batch * queries, mlp),
            projection_bias=self.parameters.flat.new_zeros(3 * hidden + mlp),
        )

    @torch.no_grad()
    def run(self, start: int, stop: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Do optimizer steps start .. stop-1; gives each one's loss and its gradient norm before clipping, float32 [steps]."""
        losses = np.empty(stop - start, dtype=np.float32)
        norms = np.empty(stop - start, dtype=np.float32)
        for step in range(start, stop):
            rows = torch.from_numpy(self.recipe.batch_rows(step, len(self.tokens)))
            if self.recipe.dropout > 0:
                self.draw_masks(self.recipe.dropout_seed(step))
            losses[step - start] = self.loss_and_gradient(self.tokens[rows].long(), self.answers[rows].long())
            norms[step - start] = update(
                self.parameters,
                self.gradient.flat,
                self.moments,
                torch.tensor(float(step)),
                self.recipe.learning_rate_at(step),
                self.recipe,
            )
        return losses, norms

    def draw_masks(self, seed: int) -> None:
        """Fill the dropout masks of a step: one 16-bit draw a value, factors exact for the rounded probability."""
        size = self._masks_flat.numel()
        draws = np.random.SFC64(seed).random_raw((size + 3) // 4).view(np.int16)[:size]
        dropped = round(self.recipe.dropout * DRAWS)
        self._masks_flat.copy_(torch.from_numpy(draws))
        self._masks_flat.ge_(dropped - DRAWS // 2).mul_(DRAWS / (DRAWS - dropped))

    @torch.no_grad()
    def loss_and_gradient(self, tokens: Tensor, answers: Tensor) -> float:
        """Mean cross-entropy of the answers int64 [batch] after tokens int64 [batch, slots]; fills `gradient`.

        The dropout masks are the ones drawn last.
        """
        batch, slots = self._batch, self._slots
        residual = self._residuals[0]
        torch.index_select(self._weights.embedding, 0, tokens.view(-1), out=residual)
        residual.mul_(self._masks.embedding)
        last = len(self._memories) - 1
        for layer in range(last):
            residual = self._forward(layer, residual, self._residuals[layer + 1])
        at_query = self._forward(last, residual, residual.view(batch, slots, -1)[:, -1].clone())
        loss, grad = self._answer(at_query, answers)
        grad = self._backward(last, grad)
        for layer in reversed(range(last)):
            grad = self._backward(layer, grad)
        grad.mul_(self._masks.embedding)
        self._gradients.embedding.zero_().index_add_(0, tokens.view(-1), grad)
        return loss

    def _forward(self, layer: int, residual: Tensor, output: Tensor) -> Tensor:
        """One layer from residual [batch * slots, hidden]; `output` [batch * queries, hidden] receives what it adds up to."""
        weights, memory, masks = self._weights.blocks[layer], self._memories[layer], self._masks.layers[layer]
        batch, slots, hidden = memory.key.shape
        queries = memory.query.shape[1]
        self._norms[layer] = torch.native_layer_norm(
            residual, [hidden], weights.norm_gain, weights.norm_bias, self._epsilon
        )
        normed = self._norms[layer][0]
        memory.projection_bias[3 * hidden :] = weights.mlp_in_bias
        if queries == slots:
            projected = product(normed, weights.projections.t(), memory.projection_bias)
            for_slots, for_queries = projected[:, : 2 * hidden], projected[:, 2 * hidden :]
        else:
            at_query = normed.view(batch, slots, hidden)[:, -1].contiguous()  # oneDNN is slow on strides
            for_slots = product(normed, weights.projections[: 2 * hidden].t())
            for_queries = product(at_query, weights.projections[2 * hidden :].t(), memory.projection_bias[2 * hidden :])
        key, value = for_slots.view(batch, slots, 2, hidden).unbind(2)
        query = for_queries.view(batch, queries, -1)[..., :hidden]
        torch.mul(as_planes(key), self._turns, out=as_planes(memory.key))
        torch.mul(as_planes(query), self._turns[-queries:], out=as_planes(memory.query))
        memory.value.copy_(value)
        scores = torch.baddbmm(self._future[-queries:], memory.query, memory.key.transpose(1, 2), alpha=self._scale)
        torch.softmax(scores, -1, out=memory.probability)
        torch.mul(memory.probability, masks.attention, out=memory.kept)
        torch.bmm(memory.kept, memory.value, out=memory.context)
        self._gelu(for_queries[:, hidden:], memory.active, memory.slope)
        attended = product(memory.context.view(-1, hidden), weights.attention_out.t())
        thought = product(memory.active, weights.mlp_out.t(), weights.mlp_out_bias)
        start = residual if queries == slots else output
        torch.addcmul(start, attended, masks.attention_out, out=output)
        return output.addcmul_(thought, masks.mlp_out)

    def _gelu(self, inner: Tensor, active: Tensor, slope: Tensor) -> None:
        """tanh GELU of `inner` into `active` and its derivative into `slope`, all [rows, mlp]."""
        gate = self._scratch[: len(inner)]
        torch.addcmul(self._gelu_linear, inner, inner, value=GELU_CUBIC, out=gate).mul_(inner).sigmoid_()
        torch.mul(inner, gate, out=active)
        # d(u g)/du = g + (1 - g) u g (linear + 3 cubic u^2), taken now because u and g are at hand
        torch.addcmul(self._gelu_linear, inner, inner, value=3 * GELU_CUBIC, out=slope)
        slope.mul_(active).lerp_(self._one, gate)

    def _answer(self, residual: Tensor, answers: Tensor) -> tuple[float, Tensor]:
        """Head, loss and their backward at the query slot: the loss and the gradient of residual [batch, hidden]."""
        weights, gradients, batch = self._weights, self._gradients, self._batch
        size = [residual.shape[1]]
        normed, mean, deviation = torch.native_layer_norm(
            residual, size, weights.norm_gain, weights.norm_bias, self._epsilon
        )
        log_probability = torch.log_softmax(torch.addmm(weights.head_bias, normed, weights.head.t()), -1)
        picked = answers[:, None]
        loss = -float(log_probability.gather(1, picked).mean())
        grad = log_probability.exp_()
        grad.scatter_add_(1, picked, self._one.neg().expand(batch, 1)).div_(batch)
        torch.mm(grad.t(), normed, out=gradients.head)
        torch.sum(grad, 0, out=gradients.head_bias)
        grad = torch.mm(grad, weights.head)
        saved = (normed, mean, deviation)
        own = (gradients.norm_gain, gradients.norm_bias)
        return loss, _norm_backward(grad, residual, saved, (weights.norm_gain, weights.norm_bias), own)

    def _backward(self, layer: int, grad: Tensor) -> Tensor:
        """From the gradient of a layer's output [batch * queries, hidden] to that of its input [batch * slots, hidden]."""
        weights, gradients = self._weights.blocks[layer], self._gradients.blocks[layer]
        memory, masks = self._memories[layer], self._masks.layers[layer]
        normed = self._norms[layer][0]
        batch, slots, hidden = memory.key.shape
        queries = memory.query.shape[1]
        whole = queries == slots
        stacked = self._stacked_gradient
        for_slots, for_queries = stacked[:, : 2 * hidden], stacked[: batch * queries, 2 * hidden :]

        grad_mlp = grad * masks.mlp_out
        gradients.mlp_out.copy_(product(grad_mlp.t(), memory.active))
        torch.sum(grad_mlp, 0, out=gradients.mlp_out_bias)
        inner = for_queries[:, hidden:]
        torch.mul(product(grad_mlp, weights.mlp_out), memory.slope, out=inner)
        torch.mv(inner.t(), self._ones[: len(inner)], out=gradients.mlp_in_bias)

        grad_attention = grad * masks.attention_out
        gradients.attention_out.copy_(product(grad_attention.t(), memory.context.view(-1, hidden)))
        context = product(grad_attention, weights.attention_out).view(batch, queries, hidden)
        key, value = for_slots.view(batch, slots, 2, hidden).unbind(2)
        query = for_queries.view(batch, queries, -1)[..., :hidden]
        value.copy_(torch.bmm(memory.kept.transpose(1, 2), context))
        kept = torch.bmm(context, memory.value.transpose(1, 2)).mul_(masks.attention)
        scores = torch.ops.aten._softmax_backward_data(kept, memory.probability, -1, kept.dtype).mul_(self._scale)
        back = self._turns.conj().resolve_conj()
        torch.mul(as_planes(torch.bmm(scores.transpose(1, 2), memory.query)), back, out=as_planes(key))
        torch.mul(as_planes(torch.bmm(scores, memory.key)), back[-queries:], out=as_planes(query))

        # Transposed products: oneDNN copies a transposed left factor, so that should be the narrow one.
        if whole:
            gradients.projections.copy_(product(normed.t(), stacked).t())
            grad_normed = product(stacked, weights.projections)
        else:
            at_query = normed.view(batch, slots, hidden)[:, -1].contiguous()  # oneDNN is slow on strides
            gradients.projections[: 2 * hidden] = product(normed.t(), for_slots.contiguous()).t()
            gradients.projections[2 * hidden :] = product(at_query.t(), for_queries.contiguous()).t()
            grad_normed = product(for_slots, weights.projections[: 2 * hidden])
            grad_normed.view(batch, slots, hidden)[:, -1] += product(for_queries, weights.projections[2 * hidden :])
        own = (gradients.norm_gain, gradients.norm_bias)
        below = _norm_backward(
            grad_normed, self._residuals[layer], self._norms[layer], (weights.norm_gain, weights.norm_bias), own
        )
        if whole:
            return below.add_(grad)
        below.view(batch, slots, hidden)[:, -1] += grad
        return below
