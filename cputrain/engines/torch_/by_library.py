"""Which library executes torch's matrix products, by what the libraries print themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from cputrain.engines import EngineError, verbose
from cputrain.engines.torch_.linear import layers_of
from cputrain.experiment import Experiment


@contextmanager
def watched() -> Iterator[dict[str, int]]:
    """Counts fp32 products meanwhile, by library; there at the end, without those of 0.

    Raises:
        EngineError: a library of this build of torch does not print what it executes.
    """
    counted: dict[str, int] = {}
    backends = torch.backends
    with verbose.captured() as lines, ExitStack() as on:
        try:
            if backends.mkl.is_available():
                on.enter_context(backends.mkl.verbose(backends.mkl.VERBOSE_ON))
            if backends.mkldnn.is_available():
                on.enter_context(backends.mkldnn.verbose(backends.mkldnn.VERBOSE_ON))
        except (AssertionError, RuntimeError) as error:
            raise EngineError(f"torch's libraries cannot be made to print: {error}") from error
        yield counted
    counted |= {name: n for name, n in verbose.by_library(lines).items() if n}


def look(
    model: nn.Module, experiment: Experiment, step: Callable[[], Any]
) -> tuple[dict[str, int], dict[str, int]]:
    """Products by library: of a step, and of each linear layer by itself.

    Together they tell the layers' products from those of attention and the head. A layer by
    itself has the rows of a micro-batch, and a backward pass too: see
    `TorchEvidence.layer_products_by_library`.

    Args:
        model: its blocks' linear layers are run; nothing changes.
        experiment: batch_size and seq_len.
        step: runs a forward pass, and a backward pass where it trains.
    """
    with watched() as in_step:
        step()
    rows = (experiment.training.batch_size, experiment.training.seq_len)
    with watched() as alone:
        for layer in layers_of(model):
            # Not called as a module: that would run what low-rank adaptation adds to it.
            x = torch.ones(*rows, layer.in_features, requires_grad=True)
            y = type(layer).forward(layer, x)
            wanted = [x, *([layer.weight] if layer.weight.requires_grad else [])]
            torch.autograd.grad(y, wanted, torch.ones_like(y))
    return in_step, alone
