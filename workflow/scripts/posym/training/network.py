"""The parameters of a GPT-J as a training step wants them: views of the same flat tensor, the projections that share an
input stacked into one matrix."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from posym.model import Parameters


@dataclass(frozen=True)
class Block:
    """One layer. `projections` [3 hidden + mlp, hidden] stacks key, value, query and fc_in: all read the same LayerNorm."""

    projections: Tensor
    attention_out: Tensor  # [hidden, hidden]
    mlp_out: Tensor  # [hidden, mlp]
    norm_gain: Tensor  # [hidden]
    norm_bias: Tensor  # [hidden]
    mlp_in_bias: Tensor  # [mlp]
    mlp_out_bias: Tensor  # [hidden]


@dataclass(frozen=True)
class Network:
    """All parameters (or all gradients, or all leaves of an autograd graph) of one model."""

    embedding: Tensor  # [vocabulary, hidden]
    blocks: tuple[Block, ...]
    head: Tensor  # [vocabulary, hidden]
    head_bias: Tensor  # [vocabulary]
    norm_gain: Tensor  # [hidden]
    norm_bias: Tensor  # [hidden]

    def in_order(self) -> list[Tensor]:
        """The tensors as they follow one another in the flat tensor."""
        matrices, vectors = [self.embedding], []
        for block in self.blocks:
            matrices += [block.projections, block.attention_out, block.mlp_out]
            vectors += [block.norm_gain, block.norm_bias, block.mlp_in_bias, block.mlp_out_bias]
        return [*matrices, self.head, *vectors, self.head_bias, self.norm_gain, self.norm_bias]


def network_of(parameters: Parameters, *, leaves: bool = False) -> Network:
    """Views of `parameters`; with `leaves`, each a leaf that autograd computes a gradient for (memory still shared)."""
    hidden, mlp = parameters.shape.hidden_size, parameters.shape.mlp_size

    def view(tensor: Tensor) -> Tensor:
        return tensor.detach().requires_grad_() if leaves else tensor

    def block(layer: int) -> Block:
        name = f"transformer.h.{layer}."
        first = parameters[name + "attn.k_proj.weight"]
        start = first.storage_offset() - parameters.flat.storage_offset()
        stacked = parameters.flat[start : start + (3 * hidden + mlp) * hidden].view(-1, hidden)
        return Block(
            projections=view(stacked),
            attention_out=view(parameters[name + "attn.out_proj.weight"]),
            mlp_out=view(parameters[name + "mlp.fc_out.weight"]),
            norm_gain=view(parameters[name + "ln_1.weight"]),
            norm_bias=view(parameters[name + "ln_1.bias"]),
            mlp_in_bias=view(parameters[name + "mlp.fc_in.bias"]),
            mlp_out_bias=view(parameters[name + "mlp.fc_out.bias"]),
        )

    return Network(
        embedding=view(parameters["transformer.wte.weight"]),
        blocks=tuple(block(layer) for layer in range(parameters.shape.layers)),
        head=view(parameters["lm_head.weight"]),
        head_bias=view(parameters["lm_head.bias"]),
        norm_gain=view(parameters["transformer.ln_f.weight"]),
        norm_bias=view(parameters["transformer.ln_f.bias"]),
    )
