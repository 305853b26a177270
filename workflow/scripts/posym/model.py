"""GPT-J with one head a layer: its parameters, its forward pass, and the way to and from transformers.

The architecture is paper section 3 (arXiv 2605.31558): parallel attention and MLP behind one LayerNorm, RoPE over the
whole head (pairs of neighbouring coordinates form a plane), GELU in its tanh form, untied output head with a bias.
The forward pass here is the one that every measurement uses; `tests/test_model.py` holds it against transformers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import prod, sqrt
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from posym.errors import InputError
from posym.files import replaced_folder

ROPE_BASE = 10000.0  # fixed in transformers' GPT-J


@dataclass(frozen=True)
class Shape:
    """Sizes of a one-head GPT-J. `vocabulary` counts tokens, `positions` is the longest input a user may run."""

    vocabulary: int
    layers: int
    hidden_size: int
    mlp_size: int
    positions: int
    layer_norm_epsilon: float = 1e-5

    @property
    def planes(self) -> int:
        """Number of RoPE planes: the whole head turns, two coordinates a plane."""
        return self.hidden_size // 2

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name (as in transformers) to shape of every parameter; matrices first, then vectors."""
        hidden, mlp = self.hidden_size, self.mlp_size
        matrices: dict[str, tuple[int, ...]] = {"transformer.wte.weight": (self.vocabulary, hidden)}
        vectors: dict[str, tuple[int, ...]] = {}
        for layer in range(self.layers):
            block = f"transformer.h.{layer}."
            # The four that read the block's LayerNorm come first, so that training can take them as one stacked matrix.
            for name in ("k_proj", "v_proj", "q_proj"):
                matrices[f"{block}attn.{name}.weight"] = (hidden, hidden)
            matrices[f"{block}mlp.fc_in.weight"] = (mlp, hidden)
            matrices[f"{block}attn.out_proj.weight"] = (hidden, hidden)
            matrices[f"{block}mlp.fc_out.weight"] = (hidden, mlp)
            vectors[f"{block}ln_1.weight"] = (hidden,)
            vectors[f"{block}ln_1.bias"] = (hidden,)
            vectors[f"{block}mlp.fc_in.bias"] = (mlp,)
            vectors[f"{block}mlp.fc_out.bias"] = (hidden,)
        matrices["lm_head.weight"] = (self.vocabulary, hidden)
        vectors["lm_head.bias"] = (self.vocabulary,)
        vectors["transformer.ln_f.weight"] = (hidden,)
        vectors["transformer.ln_f.bias"] = (hidden,)
        return matrices | vectors


class Parameters:
    """All parameters of one model in one flat float tensor, with a named view of each.

    Matrices come first and are `flat[:matrix_size]`: they are the ones that weight decay applies to, and one flat tensor
    makes the optimizer, the gradient norm and the resume state single operations. The same class holds gradients.
    """

    def __init__(self, shape: Shape, flat: Tensor | None = None, *, dtype: torch.dtype = torch.float32) -> None:
        self.shape = shape
        sizes = shape.tensors()
        total = sum(prod(size) for size in sizes.values())
        self.flat = torch.zeros(total, dtype=dtype) if flat is None else flat
        if self.flat.shape != (total,):
            raise InputError(f"a model of {shape} has {total} parameters, the tensor given holds {self.flat.numel()}")
        self.matrix_size = sum(prod(size) for size in sizes.values() if len(size) == 2)
        self.named: dict[str, Tensor] = {}
        start = 0
        for name, size in sizes.items():
            self.named[name] = self.flat[start : start + prod(size)].view(size)
            start += prod(size)

    def __getitem__(self, name: str) -> Tensor:
        return self.named[name]

    def to(self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Parameters:
        """The same parameters on another device or in another dtype (a copy where either differs)."""
        return Parameters(self.shape, self.flat.to(device=device, dtype=dtype))


def initial_parameters(shape: Shape, *, seed: int, standard_deviation: float) -> Parameters:
    """Fresh parameters: matrices N(0, standard_deviation), biases 0, LayerNorm gains 1, as transformers initialises GPT-J."""
    parameters = Parameters(shape)
    generator = torch.Generator().manual_seed(seed)
    parameters.flat[: parameters.matrix_size].normal_(0.0, standard_deviation, generator=generator)
    for name, tensor in parameters.named.items():
        if ".ln_" in name and name.endswith("weight"):
            tensor.fill_(1.0)
    return parameters


def plane_angles(planes: int) -> Tensor:
    """Angle of each RoPE plane in radians per position, float64 [planes]: plane id 1 turns by 1, the next by less."""
    return ROPE_BASE ** (-torch.arange(planes, dtype=torch.float64) / planes)


def rotations(positions: Tensor, planes: int, dtype: torch.dtype) -> Tensor:
    """exp(i * position * angle), complex [..., planes]: multiplying a plane by it turns the plane as RoPE does."""
    turned = positions.to(torch.float64)[..., None] * plane_angles(planes).to(positions.device)
    complex_dtype = torch.complex128 if dtype == torch.float64 else torch.complex64
    return torch.polar(torch.ones_like(turned), turned).to(complex_dtype)


def as_planes(vectors: Tensor) -> Tensor:
    """[..., hidden] as complex [..., planes] (a view): GPT-J's RoPE pairs neighbouring coordinates."""
    return torch.view_as_complex(vectors.unflatten(-1, (-1, 2)))


def rotate(vectors: Tensor, turns: Tensor) -> Tensor:
    """Apply RoPE: vectors [..., slot, hidden] turned by `rotations` [slot, planes]."""
    return torch.view_as_real(as_planes(vectors) * turns).flatten(-2)


@dataclass(frozen=True)
class LayerView:
    """What enters the attention of one layer, before RoPE: normed [batch, slot, hidden], query and key alike."""

    layer: int
    residual: Tensor
    normed: Tensor
    query: Tensor
    key: Tensor


def embed(parameters: Parameters, tokens: Tensor) -> Tensor:
    """Token embedding: integer tokens [batch, slot] to [batch, slot, hidden]."""
    return F.embedding(tokens.long(), parameters["transformer.wte.weight"])


def normed_input(parameters: Parameters, layer: int, residual: Tensor) -> Tensor:
    """The LayerNorm in front of a block, [..., hidden]."""
    block = f"transformer.h.{layer}.ln_1."
    gain, bias = parameters[block + "weight"], parameters[block + "bias"]
    return F.layer_norm(residual, gain.shape, gain, bias, parameters.shape.layer_norm_epsilon)


def project(parameters: Parameters, layer: int, name: str, vectors: Tensor) -> Tensor:
    """One of the attention's `q_proj`, `k_proj`, `v_proj`, `out_proj`, none of which has a bias."""
    return F.linear(vectors, parameters[f"transformer.h.{layer}.attn.{name}.weight"])


def feed_forward(parameters: Parameters, layer: int, normed: Tensor) -> Tensor:
    """The MLP of a block, [..., hidden]."""
    block = f"transformer.h.{layer}.mlp."
    inner = F.linear(normed, parameters[block + "fc_in.weight"], parameters[block + "fc_in.bias"])
    inner = F.gelu(inner, approximate="tanh")
    return F.linear(inner, parameters[block + "fc_out.weight"], parameters[block + "fc_out.bias"])


def unembed(parameters: Parameters, residual: Tensor) -> Tensor:
    """Final LayerNorm and output head: [..., hidden] to logits [..., vocabulary]."""
    gain = parameters["transformer.ln_f.weight"]
    final = F.layer_norm(
        residual, gain.shape, gain, parameters["transformer.ln_f.bias"], parameters.shape.layer_norm_epsilon
    )
    return F.linear(final, parameters["lm_head.weight"], parameters["lm_head.bias"])
