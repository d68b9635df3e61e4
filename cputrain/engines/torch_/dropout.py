"""Dropout of embeddings and residual branches."""

from __future__ import annotations

from torch import nn

from cputrain.experiment import Experiment


def make(experiment: Experiment) -> nn.Module:
    """Drops a share of `model.dropout` in training and scales up the rest; none in evaluation.

    Without dropout there is nothing to call: nn.Dropout(0) would copy its input.
    """
    share = experiment.model.dropout
    return nn.Dropout(share) if share else nn.Identity()
