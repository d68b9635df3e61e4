"""The causal gMLP block: see `model.gmlp` for its form and sizes."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.engines.torch_ import layers, linear
from cputrain.experiment import Experiment
from cputrain.experiment.activations import ACTIVATIONS
from cputrain.model import gmlp


class Spatial(nn.Module):  # type: ignore[misc]
    """Mixes positions, each channel alike: tril(weight) @ x + bias (Liu et al. 2021, eq. 4)."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, length))
        self.bias = nn.Parameter(torch.empty(length))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, half] -> [B, T, half]."""
        return cast(Tensor, self.weight.tril() @ x + self.bias.unsqueeze(1))


class Block(nn.Module):  # type: ignore[misc]
    """x + proj(u * spatial(ln_gate(v))), where u, v = gelu(fc(ln_1(x)))."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        width, half = experiment.model.n_embd, gmlp.hidden(experiment)
        self.ln_1 = layers.norm(experiment)
        self.fc = linear.make(experiment, width, 2 * half, bias=True)
        self.activation = ACTIVATIONS[experiment.model.activation]
        self.ln_gate = nn.LayerNorm(half, eps=layers.NORM_EPS)
        self.spatial = Spatial(experiment.training.seq_len)
        self.proj = linear.make(experiment, half, width, bias=True)
        self.drop = layers.dropout(experiment)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        u, v = self.activation(F, self.fc(self.ln_1(x))).chunk(2, dim=-1)
        return cast(Tensor, x + self.drop(self.proj(u * self.spatial(self.ln_gate(v)))))
