"""GPT-J with one head a layer: its parameters, its forward pass, and the way to and from transformers.

The architecture is paper section 3 (arXiv 2605.31558): parallel attention and MLP behind one LayerNorm, RoPE over the
whole head (pairs of neighbouring coordinates form a plane), GELU in its tanh form, untied output head with a bias.
The forward pass here is the one that every measurement uses; `tests/test_model.py` holds it against transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod, sqrt
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from posym.errors import InputError
from posym.files import file_digest, read_json, replaced_folder
from posym.products import linear

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
    """What one layer's attention starts from, before RoPE: query and key [batch, slot, hidden], slots from `first` on."""

    layer: int
    first: int
    query: Tensor
    key: Tensor


@dataclass(frozen=True)
class Prefix:
    """Turned keys and values of tokens that come first, per layer [group, slot, hidden]; later rows share them by group."""

    keys: list[Tensor]
    values: list[Tensor]

    @property
    def slots(self) -> int:
        """Number of tokens in the prefix."""
        return self.keys[0].shape[1]

    def first(self, slots: int) -> Prefix:
        """The beginning of this prefix (views): attention is causal, so it is what `prefix_of` fewer tokens gives."""
        return Prefix([key[:, :slots] for key in self.keys], [value[:, :slots] for value in self.values])


# What an intervention may change: `residual`, what enters a layer; `query`, the head's queries before RoPE; `attention`,
# its weights; `head`, what it hands to `out_proj`.
Place = Literal["residual", "query", "attention", "head"]
Intervene = Callable[[int, Place, Tensor], Tensor]


def untouched(_layer: int, _place: Place, tensor: Tensor) -> Tensor:
    """The intervention that changes nothing."""
    return tensor


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
    return linear(vectors, parameters[f"transformer.h.{layer}.attn.{name}.weight"])


def feed_forward(parameters: Parameters, layer: int, normed: Tensor) -> Tensor:
    """The MLP of a block, [..., hidden]."""
    block = f"transformer.h.{layer}.mlp."
    inner = linear(normed, parameters[block + "fc_in.weight"], parameters[block + "fc_in.bias"], gelu=True)
    return linear(inner, parameters[block + "fc_out.weight"], parameters[block + "fc_out.bias"])


def unembed(parameters: Parameters, residual: Tensor) -> Tensor:
    """Final LayerNorm and output head: [..., hidden] to logits [..., vocabulary]."""
    gain = parameters["transformer.ln_f.weight"]
    final = F.layer_norm(
        residual, gain.shape, gain, parameters["transformer.ln_f.bias"], parameters.shape.layer_norm_epsilon
    )
    return linear(final, parameters["lm_head.weight"], parameters["lm_head.bias"])


def prefix_of(parameters: Parameters, tokens: Tensor, intervene: Intervene = untouched) -> Prefix:
    """Run tokens [group, slot] that other tokens will follow, keeping what those need; memory grows linearly with slots.

    `intervene` may change the queries only: see `answer_logits`.
    """
    keys, values = [], []
    turns = rotations(
        torch.arange(tokens.shape[1], device=tokens.device), parameters.shape.planes, parameters.flat.dtype
    )
    residual = embed(parameters, tokens)
    for layer in range(parameters.shape.layers):
        normed = normed_input(parameters, layer, residual)
        keys.append(rotate(project(parameters, layer, "k_proj", normed), turns))
        values.append(project(parameters, layer, "v_proj", normed))
        if layer == parameters.shape.layers - 1:
            break  # nobody reads what the last layer would write into a prefix
        query = rotate(intervene(layer, "query", project(parameters, layer, "q_proj", normed)), turns)
        query, key, value = (tensor.unsqueeze(1) for tensor in (query, keys[-1], values[-1]))  # one head
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True).squeeze(1)
        residual = residual + project(parameters, layer, "out_proj", mixed) + feed_forward(parameters, layer, normed)
    return Prefix(keys, values)


def answer_logits(
    parameters: Parameters,
    tokens: Tensor,
    prefix: Prefix | None = None,
    observe: Callable[[LayerView], None] | None = None,
    intervene: Intervene = untouched,
) -> Tensor:
    """Logits [batch, vocabulary] of the token after the last slot, dropout off.

    tokens: integers [batch, slot]. With a `prefix` of G groups, batch is a multiple of G, and each run of batch / G rows
    continues its group's prefix. `observe` is called once a layer with what its attention starts from.
    `intervene(layer, place, tensor)` returns what is used in the place of a tensor that it is shown: the `residual`
    [batch, slot, hidden] that enters a layer, the `query` [batch, slot, hidden] before RoPE, the `attention` weights
    [batch, slot, prefix + slot], the `head`'s output [batch, slot, hidden] in front of `out_proj`.
    The last layer is computed at the last slot only, since nothing else is read from it: its `attention` and `head` have
    that one slot, and so has its `query` unless there is an `observe`.
    """
    shape = parameters.shape
    first = prefix.slots if prefix else 0
    slots = tokens.shape[1]
    positions = torch.arange(first, first + slots, device=tokens.device)
    turns = rotations(positions, shape.planes, parameters.flat.dtype)
    future = torch.ones(slots, slots, dtype=torch.bool, device=tokens.device).triu(1)
    residual = embed(parameters, tokens)
    for layer in range(shape.layers):
        last = layer == shape.layers - 1
        residual = intervene(layer, "residual", residual)
        normed = normed_input(parameters, layer, residual)
        key = project(parameters, layer, "k_proj", normed)
        query = project(parameters, layer, "q_proj", normed if observe or not last else normed[:, -1:])
        query = intervene(layer, "query", query)
        if observe:
            observe(LayerView(layer, first, query, key))
        value = project(parameters, layer, "v_proj", normed)
        if last:
            query, normed, residual = query[:, -1:], normed[:, -1:], residual[:, -1:]
        asking = query.shape[1]
        query = rotate(query, turns[-asking:]) / sqrt(shape.hidden_size)
        logits = (query @ rotate(key, turns).mT).masked_fill(future[-asking:], -torch.inf)
        if prefix is None:
            mixed = intervene(layer, "attention", logits.softmax(-1)) @ value
        else:
            groups = prefix.keys[layer].shape[0]
            shared = query.reshape(groups, -1, shape.hidden_size) @ prefix.keys[layer].mT
            weights = torch.cat([shared.view(*logits.shape[:2], first), logits], dim=-1).softmax(-1)
            weights = intervene(layer, "attention", weights)
            before = weights[..., :first].reshape(groups, -1, first) @ prefix.values[layer]
            mixed = before.view(query.shape) + weights[..., first:] @ value
        mixed = intervene(layer, "head", mixed)
        residual = residual + project(parameters, layer, "out_proj", mixed) + feed_forward(parameters, layer, normed)
    return unembed(parameters, residual[:, -1])


def save_checkpoint(parameters: Parameters, folder: Path, *, dropout: float) -> str:
    """Write a folder that `GPTJForCausalLM.from_pretrained` loads; returns the SHA-256 of its `model.safetensors`."""
    from safetensors.torch import save_file
    from transformers import GPTJConfig

    shape = parameters.shape
    config = GPTJConfig(
        vocab_size=shape.vocabulary,
        n_positions=shape.positions,
        n_embd=shape.hidden_size,
        n_layer=shape.layers,
        n_head=1,
        n_inner=shape.mlp_size,
        rotary_dim=shape.hidden_size,
        activation_function="gelu_new",
        layer_norm_epsilon=shape.layer_norm_epsilon,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        bos_token_id=None,
        eos_token_id=None,
        tie_word_embeddings=False,
        architectures=["GPTJForCausalLM"],
        dtype="float32",
    )
    with replaced_folder(folder) as temporary:
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in parameters.named.items()}
        save_file(tensors, temporary / "model.safetensors", metadata={"format": "pt"})
        config.to_json_file(temporary / "config.json", use_diff=False)
    return file_digest(folder / "model.safetensors")


def load_checkpoint(folder: Path, digest: str | None = None) -> Parameters:
    """Read a one-head GPT-J checkpoint; one that is missing, damaged or of another architecture raises `InputError`.

    `digest` is the SHA-256 of `model.safetensors` that a manifest promises.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    config, weights = read_json(folder / "config.json"), folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{weights} is missing: run the `training` stage again")
    if digest is not None and file_digest(weights) != digest:
        raise InputError(
            f"{weights} is not the file its manifest describes: delete its model folder and run the `training` stage again"
        )
    wanted = {"model_type": "gptj", "n_head": 1, "rotary_dim": config.get("n_embd"), "activation_function": "gelu_new"}
    for key, value in wanted.items():
        if config.get(key) != value:
            raise InputError(f"{folder} is no one-head GPT-J: {key} is {config.get(key)}, expected {value}")
    shape = Shape(
        vocabulary=config["vocab_size"],
        layers=config["n_layer"],
        hidden_size=config["n_embd"],
        mlp_size=config["n_inner"],
        positions=config["n_positions"],
        layer_norm_epsilon=config["layer_norm_epsilon"],
    )
    try:
        tensors = load_file(weights)
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"{weights} is damaged ({error}): delete its model folder and run the `training` stage again"
        ) from None
    parameters = Parameters(shape)
    for name, tensor in parameters.named.items():
        if name not in tensors or tensors[name].shape != tensor.shape:
            raise InputError(f"{weights} does not fit its config.json: tensor {name} is missing or has another shape")
        tensor.copy_(tensors[name])
    return parameters
