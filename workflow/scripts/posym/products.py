"""Products with weight matrices, as fast as a CPU multiplies: oneDNN where PyTorch has it, its ordinary products elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def _onednn_works() -> bool:
    """Whether this build of PyTorch multiplies float32 matrices with oneDNN."""
    try:
        one = torch.ones(1, 1)
        return bool(torch.ops.mkldnn._linear_pointwise(one, one, None, "none", [], "") == one)
    except (AttributeError, RuntimeError):
        return False


# oneDNN uses AVX-512 on every CPU that has it, MKL (behind torch.mm) only on Intel's; elsewhere that is twice the speed.
ONEDNN = _onednn_works()


def _for_onednn(left: Tensor) -> bool:
    return ONEDNN and left.dtype == torch.float32 and left.device.type == "cpu"


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left [n, k] @ right [k, m] + bias [m], without autograd."""
    if _for_onednn(left):
        result: Tensor = torch.ops.mkldnn._linear_pointwise(left, right.t(), bias, "none", [], "")
        return result
    return torch.mm(left, right) if bias is None else torch.addmm(bias, left, right)


def linear(vectors: Tensor, weights: Tensor, bias: Tensor | None = None, *, gelu: bool = False) -> Tensor:
    """vectors [..., k] times weights [m, k] plus bias [m], and tanh GELU of that where asked; without autograd."""
    if _for_onednn(vectors):
        # oneDNN falls to reference code on strided vectors, and applies GELU while the result is still in the cache.
        after: tuple[str, list[float], str] = ("gelu", [], "tanh") if gelu else ("none", [], "")
        result: Tensor = torch.ops.mkldnn._linear_pointwise(vectors.contiguous(), weights, bias, *after)
        return result
    result = F.linear(vectors, weights, bias)
    return F.gelu(result, approximate="tanh") if gelu else result
