"""How far a precision's forward pass is from that of the same weights in fp32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from cputrain.engines.torch_ import torchao_
from cputrain.engines.torch_.linear import QuantizedLinear, layers_of
from cputrain.engines.torch_.precision import autocast, plain
from cputrain.engines.torch_.schema import PrecisionCheck
from cputrain.experiment import Experiment

BOUNDS = {
    "fp32": (0.0, 0.0),
    "mixed": (5e-4, 0.03),
    "bf16": (5e-4, 0.03),
    "q8": (3e-3, 0.15),
    "q8_torchao": (3e-3, 0.15),
    "q4": (0.03, 0.6),
    "bitnet": (0.15, 2.5),
    "bitnet_torchao": (0.15, 2.5),
}
"""By precision: least and most of `forward_difference`. It was found to be 0.003 to 0.008 in bf16
and mixed, 0.008 to 0.045 in q8, 0.07 to 0.2 in q4, 0.5 to 0.9 in bitnet: 2 to 12 layers, at the
start and after 400 steps. The bounds are some three times away from that."""


def forward_difference(model: nn.Module, experiment: Experiment, *inputs: Tensor) -> float:
    """How far the blocks' products are from those of the same weights in fp32.

    The mean over blocks of |y - y_fp32| / |y_fp32| in Euclidean norms, where y is what the
    first linear layer of a block gives: its own rounding, and that of all before it. Without
    dropout and without compilation.

    Args:
        model: prepared; it is as before afterwards.
        inputs: arguments of `LanguageModel.hidden`.
    """
    training = model.training
    model.eval()
    with torch.no_grad():
        with autocast(experiment):
            rounded = _first_products(model, inputs)
        with _in_fp32(model, experiment):
            exact = _first_products(model, inputs)
    model.train(training)
    apart = [float((y - z).norm() / z.norm()) for y, z in zip(rounded, exact, strict=True)]
    return sum(apart) / len(apart)


def _first_products(model: nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """What the first linear layer of each block gives, float32."""
    taken: list[Tensor] = []
    firsts = [next(m for m in block.modules() if isinstance(m, nn.Linear)) for block in model.h]
    hooks = [
        layer.register_forward_hook(lambda _, __, y: taken.append(y.float())) for layer in firsts
    ]
    try:
        model.hidden(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return taken


def check(experiment: Experiment, difference: float) -> PrecisionCheck:
    """`forward_difference` held against what the precision's rounding gives."""
    least, most = BOUNDS[experiment.training.precision]
    bounds, holds = f"{least:g} to {most:g}", least <= difference <= most
    return PrecisionCheck("difference of the forward pass from fp32", bounds, difference, holds)


def is_quantized(layer: nn.Module) -> bool:
    """Whether what this layer multiplies is rounded first."""
    return isinstance(layer, QuantizedLinear) or torchao_.is_converted(layer)


@contextlib.contextmanager
def _in_fp32(model: nn.Module, experiment: Experiment) -> Iterator[None]:
    """The model with the same weights and nothing rounded."""
    changed = [layer for layer in layers_of(model) if is_quantized(layer)]
    kinds, weights = [type(layer) for layer in changed], [layer.weight for layer in changed]
    try:
        for layer in changed:
            layer.__class__ = nn.Linear
            layer.weight = nn.Parameter(plain(layer.weight), requires_grad=False)
        with _widened(model) if experiment.training.precision == "bf16" else nullcontext():
            yield
    finally:
        for layer, kind, weight in zip(changed, kinds, weights, strict=True):
            layer.__class__, layer.weight = kind, weight


@contextlib.contextmanager
def _widened(model: nn.Module) -> Iterator[None]:
    """The model with float32 copies in the place of its tensors.

    Not model.float() and back: that gives the parameters new nodes in the autograd graph, and
    who hooked into the old ones, as DDP does, is not called any more (tried).
    """
    tables = [table for m in model.modules() for table in (m._parameters, m._buffers)]
    kept = [dict(table) for table in tables]
    try:
        for table in tables:
            for name, tensor in table.items():
                if tensor is not None and tensor.is_floating_point():
                    table[name] = tensor.detach().float()
        yield
    finally:
        for table, before in zip(tables, kept, strict=True):
            table.update(before)
