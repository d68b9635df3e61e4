"""The Mamba-2 block and its scan: see `model.ssm` for its form and sizes."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.engines.torch_ import layers, linear
from cputrain.experiment import Experiment
from cputrain.model import ssm


def scan(x: Tensor, log_decay: Tensor, b: Tensor, c: Tensor, size: int) -> Tensor:
    """y_t = c_t h_t, where h_t = exp(log_decay_t) h_(t-1) + b_t x_t^T and h_(-1) = 0.

    By chunks (Dao & Gu 2024, sec. 6 and listing 1): every pair of tokens inside a chunk, and
    one state for each chunk. Each decay is exp of a sum that is not above 0: none overflows.

    Args:
        x: [B, T, heads, channels].
        log_decay: [B, T, heads], not above 0.
        b: [B, T, states]; c: likewise; both for all heads.
        size: tokens of a chunk; what lacks in the last one is filled with zeros.
    """
    batch, length, heads, channels = x.shape
    n = math.ceil(length / size)
    lacking = n * size - length
    if lacking:
        x, b, c = F.pad(x, (0, 0, 0, 0, 0, lacking)), _longer(b, lacking), _longer(c, lacking)
        log_decay = _longer(log_decay, lacking)
    x = x.reshape(batch, n, size, heads, channels)
    b, c = b.reshape(batch, n, size, -1), c.reshape(batch, n, size, -1)
    since_start = log_decay.reshape(batch, n, size, heads).cumsum(2)

    # Inside a chunk: [B, n, 1, size, size] scores, [B, n, heads, size, size] decays.
    scores = (c @ b.transpose(2, 3)).unsqueeze(2)
    decays = _between(since_start.transpose(2, 3))
    y = ((scores * decays) @ x.transpose(2, 3)).transpose(2, 3)

    # The state that each chunk adds, decayed to the chunk's end: [B, n, states, heads * channels].
    to_end = (since_start[:, :, -1:] - since_start).exp().unsqueeze(4)
    added = b.transpose(2, 3) @ (x * to_end).flatten(3)
    # The state before each chunk, from those added before: [B, heads, n, n] decays.
    total = since_start[:, :, -1].transpose(1, 2)
    carried = _between(F.pad(total, (1, 0)).cumsum(2))[:, :, :-1, 1:]
    by_head = added.reshape(batch, n, -1, heads, channels).permute(0, 3, 1, 2, 4).flatten(3)
    before = (carried @ by_head).view(batch, heads, n, -1, channels)
    before = before.permute(0, 2, 3, 1, 4).flatten(3)
    y = y + (c @ before).view(x.shape) * since_start.exp().unsqueeze(4)
    return cast(Tensor, y.reshape(batch, n * size, heads, channels)[:, :length])


def _longer(x: Tensor, lacking: int) -> Tensor:
    """Zeros after the tokens of [B, T, any]."""
    return F.pad(x, (0, 0, 0, lacking))


def _between(since_start: Tensor) -> Tensor:
    """Decays from token j to token i >= j, [..., i, j], by sums of their logarithms [..., T].

    0 for i < j: left out before exp, which could overflow there.
    """
    length = since_start.shape[-1]
    later = torch.ones(length, length, dtype=torch.bool, device=since_start.device).triu(1)
    sums = since_start.unsqueeze(-1) - since_start.unsqueeze(-2)
    return cast(Tensor, sums.masked_fill(later, -math.inf).exp())


class Convolution(nn.Module):  # type: ignore[misc]
    """Causal, each channel by itself: a weighted sum of the token and the KERNEL - 1 before it.

    As KERNEL shifted products: faster on a CPU than F.conv1d with a group for each channel.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels, ssm.KERNEL))
        self.bias = nn.Parameter(torch.empty(channels))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, channels] -> [B, T, channels]."""
        length = x.shape[1]
        padded = F.pad(x, (0, 0, ssm.KERNEL - 1, 0))
        total = self.bias
        for i in range(ssm.KERNEL):
            total = total + padded[:, i : i + length] * self.weight[:, i]
        return total


class Block(nn.Module):  # type: ignore[misc]
    """x + proj(ln_gate(y * silu(z))), where y is the scan's output and skip * its input.

    A head's state decays by exp(-exp(a_log) dt) and takes in dt B x, with
    dt = softplus(its fc output + dt_bias) (Gu & Dao 2023, alg. 2). The scan runs in float32
    in every precision: states add up over the whole sequence.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        width = experiment.model.n_embd
        self.channels, self.heads = ssm.inner(experiment), ssm.heads(experiment)
        self.size = ssm.chunks(experiment)[1]
        mixed = self.channels + 2 * ssm.STATE
        self.parts = [self.channels, mixed, self.heads]
        self.ln_1 = layers.norm(experiment)
        self.fc = linear.make(experiment, width, sum(self.parts), bias=False)
        self.conv = Convolution(mixed)
        self.a_log = nn.Parameter(torch.empty(self.heads))
        self.skip = nn.Parameter(torch.empty(self.heads))
        self.dt_bias = nn.Parameter(torch.empty(self.heads))
        self.ln_gate = nn.RMSNorm(self.channels, eps=layers.NORM_EPS)
        self.proj = linear.make(experiment, self.channels, width, bias=False)
        self.drop = layers.dropout(experiment)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        gates, mixed, dt = self.fc(self.ln_1(x)).split(self.parts, dim=2)
        mixed = F.silu(self.conv(mixed))
        y = self._scanned(mixed, dt).to(self.ln_gate.weight.dtype) * F.silu(gates)
        y = self.ln_gate(y)
        return cast(Tensor, x + self.drop(self.proj(y)))

    def _scanned(self, mixed: Tensor, dt: Tensor) -> Tensor:
        """[B, T, channels], in float32 or wider."""
        wide = torch.promote_types(mixed.dtype, torch.float32)
        with torch.autocast("cpu", enabled=False):
            x, b, c = mixed.to(wide).split([self.channels, ssm.STATE, ssm.STATE], dim=2)
            dt = F.softplus(dt.to(wide) + self.dt_bias.to(wide))
            x = x.unflatten(2, (self.heads, ssm.HEAD))
            decay = -self.a_log.to(wide).exp() * dt
            y = scan(x * dt.unsqueeze(3), decay, b, c, self.size)
            return (y + self.skip.to(wide).unsqueeze(1) * x).flatten(2)
