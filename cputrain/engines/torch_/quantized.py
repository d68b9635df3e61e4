"""Rounding to few levels, and gradients that go straight through it (Bengio et al. 2013)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from cputrain.experiment.rules import GROUP as GROUP

ACTIVATION_LEVELS = 127
WEIGHT_LEVELS = 63
"""Largest codes of q8. Weights keep 7 bits: without VNNI, x86 adds two products of an unsigned
and a signed byte in 16 bits, which 2 * 255 * 127 overflows and 2 * 255 * 63 does not. torch calls
this `reduce_range`; so the product is exact, and the same, on every machine."""
LEVELS = {
    "q8": (ACTIVATION_LEVELS, WEIGHT_LEVELS),
    "q8_torchao": (127, 127),
    "bitnet_torchao": (127, 1),
}
"""By precision with int8 products: the largest codes of activations and weights."""
LEAST = 1e-5
"""Least scale of bitnet (Ma et al. 2024, "Training Tips, Code and FAQ", fig. 3)."""


def int8_codes(x: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """Codes int8 [rows, n] from -levels to levels, and scales [rows, 1]: x is about codes * scale.

    The scale of a row is its largest magnitude over `levels`; a row of zeros has codes 0.
    """
    scale = x.abs().amax(1, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny * 1024) / levels
    return (x / scale).round_().to(torch.int8), scale


def group4(weight: Tensor) -> Tensor:
    """Each group of 32 in a row [out, in] rounded to 16 levels: llama.cpp's Q4_0, in fp32.

    A group's value of largest magnitude is level -8 of -8 ... 7 (ggml-quants.c,
    `quantize_row_q4_0_ref`; its scale is fp16, ours stays fp32).
    """
    groups = weight.unflatten(1, (-1, GROUP))
    least, most = groups.aminmax(dim=-1, keepdim=True)
    scale = torch.where(most > -least, most, least) / -8
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    return ((groups / scale).round().clamp(-8, 7) * scale).flatten(1)


def ternary(weight: Tensor) -> Tensor:
    """-s, 0 or s, where s is the mean magnitude of the matrix (Ma et al. 2024, eq. 1-3)."""
    scale = weight.abs().mean().clamp_min(LEAST)
    return (weight / scale).round().clamp(-1, 1) * scale


def int8_values(x: Tensor) -> Tensor:
    """Each row [..., n] rounded to -128 ... 127 steps of its largest magnitude / 127."""
    scale = x.abs().amax(-1, keepdim=True).clamp_min(LEAST) / ACTIVATION_LEVELS
    return (x / scale).round().clamp(-128, 127) * scale


class _StraightThrough(torch.autograd.Function):  # type: ignore[misc]
    """The rounded value forward, the gradient as if nothing had been rounded backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rounded: Tensor) -> Tensor:
        """`rounded` itself: x + (rounded - x) would miss the levels by a rounding error."""
        return rounded.view_as(rounded)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """To x as it comes."""
        return gradient, None


def straight_through(rounding: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """rounding(x), with the gradient of x."""
    return cast(Tensor, _StraightThrough.apply(x, rounding(x.detach())))


class Int8Product(torch.autograd.Function):  # type: ignore[misc]
    """x [rows, in] @ weight [out, in].T + bias by int8 codes; products are added up in int32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """fp32 in, fp32 out; scales per row of x and per output channel."""
        x_codes, x_scale = int8_codes(x, ACTIVATION_LEVELS)
        codes, scale = int8_codes(weight, WEIGHT_LEVELS)
        ctx.save_for_backward(x_codes, x_scale, codes, scale)
        y = torch._int_mm(x_codes, codes.t()).to(x.dtype).mul_(x_scale).mul_(scale.t())
        return y if bias is None else y.add_(bias)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Straight through, in fp32: a plain layer's gradients at the rounded values."""
        x_codes, x_scale, codes, scale = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            gradient @ (codes * scale) if of_x else None,
            gradient.t() @ (x_codes * x_scale) if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def int8_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """[..., in] -> [..., out] by `Int8Product`."""
    y = cast(Tensor, Int8Product.apply(x.reshape(-1, x.shape[-1]), weight, bias))
    return y.view(*x.shape[:-1], len(weight))


def int_mm_is_exact(n_in: int, n_out: int, levels: int, weight_levels: int) -> bool:
    """Whether `torch._int_mm` gives the right sums for the largest codes of a layer of this size.

    Where pairs of products saturate at 16 bits, it gives others without a word.
    """
    x = torch.full((16, n_in), levels, dtype=torch.int8)
    weight = torch.full((n_out, n_in), weight_levels, dtype=torch.int8)
    x[1::2].neg_()
    weight[1::2].neg_()
    right = n_in * x[:, :1].int() * weight[:, 0].int()
    return bool(torch.equal(torch._int_mm(x, weight.t()), right))
