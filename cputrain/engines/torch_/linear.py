"""The linear layers of the blocks."""

from __future__ import annotations

from torch import nn

from cputrain.experiment import Experiment


def make(experiment: Experiment, n_in: int, n_out: int, bias: bool) -> nn.Module:
    """A layer [..., n_in] -> [..., n_out] with `weight` [n_out, n_in] and, if asked, `bias`."""
    return nn.Linear(n_in, n_out, bias=bias)
