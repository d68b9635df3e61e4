"""The mixture-of-experts block: see `model.moe` for its form and sizes."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.engines.torch_ import linear, transformer
from cputrain.experiment import Experiment
from cputrain.experiment.activations import ACTIVATIONS, is_gated
from cputrain.model import moe

BALANCE = 0.1
"""Weight of the balance loss: the most that Fedus et al. 2022 (sec. 2.2) tried. They settled on
0.01 for long runs; here a run has tens of steps, and 0.01 evens the load out in hundreds."""
NOISE = 1 / moe.EXPERTS
"""Deviation of what is added to the router's logits in training (Riquelme et al. 2021, eq. 3)."""


class Expert(nn.Module):  # type: ignore[misc]
    """A small MLP."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        width, hidden = experiment.model.n_embd, moe.hidden(experiment)
        self.gated = is_gated(experiment.model.activation)
        self.activation = ACTIVATIONS[experiment.model.activation]
        self.fc = linear.make(experiment, width, hidden * (2 if self.gated else 1), bias=True)
        self.proj = linear.make(experiment, hidden, width, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        """[tokens, C] -> [tokens, C]."""
        hidden = self.fc(x)
        arguments = hidden.chunk(2, dim=-1) if self.gated else (hidden,)
        return cast(Tensor, self.proj(self.activation(F, *arguments)))


class Moe(nn.Module):  # type: ignore[misc]
    """Each token through TOP of EXPERTS; an expert computes its own tokens and no others.

    The router's softmax is taken in float32 in every precision (Fedus et al. 2022, sec. 2.4).
    In training its logits are noisy: in the first hundred steps tokens are so alike that
    without it an expert may get none of a batch, whatever the balance loss says (tried).

    Attributes:
        load: share of the (token, expert) pairs that each expert had in the last forward
            pass, [EXPERTS], without a gradient; their sum is 1. None before the first.
        auxiliary: BALANCE times the `balance` of the last forward pass in training; whoever
            adds it to the loss sets it to None, as it holds on to that pass.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        self.router = nn.Parameter(torch.empty(moe.EXPERTS, experiment.model.n_embd))
        self.experts = nn.ModuleList(Expert(experiment) for _ in range(moe.EXPERTS))
        self.load: Tensor | None = None
        self.auxiliary: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        tokens = x.reshape(-1, x.shape[-1])
        logits = self._logits(tokens)
        best, chosen = logits.topk(moe.TOP, dim=1)
        shares = best.softmax(dim=1)
        self._account(logits, chosen)
        y = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            rows, place = (chosen == i).nonzero(as_tuple=True)
            output = expert(tokens.index_select(0, rows)) * shares[rows, place].unsqueeze(1)
            y = y.index_add(0, rows, output.to(y.dtype))
        return y.view(x.shape)

    def _logits(self, tokens: Tensor) -> Tensor:
        """[tokens, EXPERTS], in float32 or wider."""
        wide = torch.promote_types(tokens.dtype, torch.float32)
        with torch.autocast("cpu", enabled=False):
            logits = F.linear(tokens.to(wide), self.router.to(wide))
        return logits + NOISE * torch.randn_like(logits) if self.training else logits

    def _account(self, logits: Tensor, chosen: Tensor) -> None:
        """Take down the load and, in training, the balance loss."""
        counts = torch.bincount(chosen.flatten(), minlength=moe.EXPERTS)
        self.load = load = counts.to(logits.dtype) / chosen.numel()
        if self.training:
            self.auxiliary = BALANCE * balance(logits, load)


def balance(logits: Tensor, load: Tensor) -> Tensor:
    """EXPERTS * sum of load * mean probability: 1 where all is even (Fedus et al. 2022, eq. 4).

    Without it the experts that are better at first get all the tokens. `load` is counted, so
    the gradient is the probabilities'.
    """
    return cast(Tensor, logits.shape[1] * (load * logits.softmax(dim=1).mean(dim=0)).sum())


class Block(transformer.Block):
    """gpt's block with `Moe` for its MLP."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(experiment, mlp=Moe(experiment))
