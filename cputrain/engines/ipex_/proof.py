"""Proof that a precision is in force in a model whose layers are IPEX's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from cputrain.engines.torch_ import forward_difference, in_precision
from cputrain.engines.torch_.assemble import assemble
from cputrain.engines.torch_.schema import PrecisionCheck
from cputrain.experiment import Experiment


def look(
    model: nn.Module,
    experiment: Experiment,
    profile: torch.autograd.profiler.profile,
    weights: Mapping[str, np.ndarray],
    *inputs: Tensor,
) -> list[PrecisionCheck]:
    """As `in_precision.look`. In bf16 the model is held against plain torch's in fp32.

    Args:
        model: optimized by IPEX.
        experiment: what was asked.
        profile: of one step, taken with record_shapes=True.
        weights: the model's present ones, unpacked.
        inputs: arguments of `LanguageModel.hidden`.
    """
    results = in_precision.checks(experiment, in_precision.counted(model, profile))
    if experiment.training.precision != "bf16":
        return results
    exact = assemble(plain(experiment), weights)
    apart = [
        float((y - z).norm() / z.norm())
        for y, z in zip(_firsts(model, inputs), _firsts(exact, inputs), strict=True)
    ]
    return [*results, forward_difference.check(experiment, sum(apart) / len(apart))]


def plain(experiment: Experiment) -> Experiment:
    """The same model and work on the torch engine, in fp32."""
    return experiment.but(engine="torch", precision="fp32", auto_kernel_selection=False)


def _firsts(model: nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """What the first linear layer of each block gives without dropout, float32."""
    taken: list[Tensor] = []
    hooks = [
        block.attn.qkv.register_forward_hook(lambda _, __, y: taken.append(y.float()))
        for block in model.h
    ]
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            model.hidden(*inputs)
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    return taken
