"""The norms of blocks, embeddings and heads."""

from __future__ import annotations

from torch import nn

from cputrain.experiment import Experiment

EPS = 1e-5
"""Added to the variance, or to the mean square: GPT-2's and LLaMA 2's."""


def make(experiment: Experiment) -> nn.Module:
    """A norm over the last axis of [..., n_embd].

    llama has RMSNorm, x / sqrt(mean(x^2) + eps) * weight (Zhang & Sennrich 2019, eq. 4), the
    others LayerNorm with weight and bias (Ba et al. 2016).
    """
    width = experiment.model.n_embd
    if experiment.model.architecture == "llama":
        return nn.RMSNorm(width, eps=EPS)
    return nn.LayerNorm(width, eps=EPS)
