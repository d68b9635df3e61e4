"""Small layers that blocks and embeddings share: norms, dropout, rotary positions."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from cputrain.experiment import Experiment

NORM_EPS = 1e-5
"""Added to the variance, or to the mean square: GPT-2's and LLaMA 2's."""


def norm(experiment: Experiment) -> nn.Module:
    """A norm over the last axis of [..., n_embd].

    llama has RMSNorm, x / sqrt(mean(x^2) + eps) * weight (Zhang & Sennrich 2019, eq. 4), the
    others LayerNorm with weight and bias (Ba et al. 2016).
    """
    width = experiment.model.n_embd
    if experiment.model.architecture == "llama":
        return nn.RMSNorm(width, eps=NORM_EPS)
    return nn.LayerNorm(width, eps=NORM_EPS)


def dropout(experiment: Experiment) -> nn.Module:
    """Drops a share of `model.dropout` in training and scales up the rest; none in evaluation.

    Without dropout there is nothing to call: nn.Dropout(0) would copy its input.
    """
    share = experiment.model.dropout
    return nn.Dropout(share) if share else nn.Identity()


THETA = 10_000.0
"""Base of the frequencies (Su et al. 2021, sec. 3.2.2; Touvron et al. 2023, sec. 2.2)."""


class Rotary(nn.Module):  # type: ignore[misc]
    """Turns the pair (i, i + d/2) of a head's d channels by position x THETA^(-2i/d) radians."""

    cos: Tensor
    sin: Tensor

    def __init__(self, length: int, d_head: int) -> None:
        super().__init__()
        cos, sin = tables(length, d_head)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, heads, d] -> the same, of x's type."""
        # Cast here: in autocast x is bf16, and a float table would make float queries of it.
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


@functools.cache
def tables(length: int, d_head: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines, float32 [length, 1, d_head / 2]; all layers share them.

    The angles are computed in float64: at large positions float32 angles are off by 1e-4.
    """
    at = torch.arange(length, dtype=torch.float64, device="cpu")
    pair = torch.arange(d_head // 2, dtype=torch.float64, device="cpu")
    angles = torch.outer(at, THETA ** (-2 * pair / d_head))[:, None, :]
    return angles.cos().float(), angles.sin().float()
