"""Which operators of torch an activation calls: each of its lines, and those of a step that ran.

Both are read from a profile in which the activation is a region, so no table of operators is
needed: what counts is what the region's code calls, and not what these operators call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.autograd.profiler import profile, record_function
from torch.nn import functional as F

from cputrain.engines.torch_.evidence import profiled, ran
from cputrain.engines.torch_.schema import ACTIVATION
from cputrain.experiment.activations import ACTIVATIONS, is_gated


def of_line(name: str) -> dict[str, int]:
    """The operators of one call of the activation `name`, as `calls` has them."""
    arguments = [torch.zeros(1)] * (2 if is_gated(name) else 1)
    with profiled() as call:
        _in_region(ACTIVATIONS[name])(F, *arguments)
    return calls(call)


@contextmanager
def marked(model: nn.Module, hidden: bool) -> Iterator[None]:
    """Have activations be regions in a profile; not where they are `hidden` in a compiled model.

    That would be compiled again.
    """
    modules = [] if hidden else [m for m in model.modules() if "activation" in vars(m)]
    kept = [module.activation for module in modules]
    for module in modules:
        module.activation = _in_region(module.activation)
    try:
        yield
    finally:
        for module, activation in zip(modules, kept, strict=True):
            module.activation = activation


def _in_region(activation: Callable[..., Any]) -> Callable[..., Any]:
    def called(*arguments: Any) -> Any:
        with record_function(ACTIVATION):
            return activation(*arguments)

    return called


def calls(step: profile) -> dict[str, int]:
    """How often activations called each operator, by `ACTIVATION` and its name."""
    counted: Counter[str] = Counter()
    region_end = operator_end = 0
    for start, minus_end, name in sorted((e.start_ns(), -e.end_ns(), e.name()) for e in ran(step)):
        if name == ACTIVATION:
            region_end = -minus_end
        elif operator_end <= start < region_end:
            counted[ACTIVATION + name] += 1
            operator_end = -minus_end
    return dict(counted)
