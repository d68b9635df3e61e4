"""A linear layer whose three products are oneDNN's in fp32.

On x86 torch multiplies fp32 matrices with MKL, whatever `torch.backends.mkldnn` is told:
`matmul.fp32_precision` = "bf16" does bring oneDNN in, and computes in bf16. Two ways lead to
oneDNN in fp32, both private to torch. `torch._C._nn.mkldnn_linear` wants its tensors in a
layout of its own: six copies for each layer and step, which took a quarter to a half of the
time of the products. Inductor's `mkldnn::_linear_pointwise` takes plain tensors, so here one
matrix alone is copied: the gradient, transposed, for the product by the weights. It has no
derivative, hence the function below.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from cputrain.engines import EngineError

OPERATOR = "_linear_pointwise"


def require() -> None:
    """Raise EngineError where torch has no such operator, or no oneDNN."""
    if not torch.backends.mkldnn.is_available():
        raise EngineError(f"matmul_backend = 'onednn': torch {torch.__version__} has no oneDNN")
    if not hasattr(torch.ops.mkldnn, OPERATOR):
        reason = f"torch {torch.__version__} has no mkldnn::{OPERATOR}"
        raise EngineError(f"matmul_backend = 'onednn': {reason}")


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [..., in] @ weight [out, in].T + bias."""
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return y


class _Linear(torch.autograd.Function):  # type: ignore[misc]
    """y = x W^T + b, dx = g W, dW = g^T x, db = sum of g over rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """[..., in] -> [..., out]."""
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Those that are needed."""
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        rows = gradient.reshape(-1, gradient.shape[-1])
        return (
            _product(gradient, weight.t()) if of_x else None,
            _product(rows.t(), x.reshape(-1, x.shape[-1]).t()) if of_weight else None,
            rows.sum(0) if of_bias else None,
        )


class OneDnnLinear(nn.Linear):  # type: ignore[misc]
    """nn.Linear by oneDNN."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        if not x.numel():  # an expert without tokens: oneDNN has no product of nothing
            return cast(Tensor, F.linear(x, self.weight, self.bias))
        return cast(Tensor, _Linear.apply(x, self.weight, self.bias))
