"""What a precision does to a model and its parameters; `in_precision` proves it in force."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from cputrain.engines import EngineError
from cputrain.engines.torch_ import torchao_
from cputrain.engines.torch_.linear import layers_of
from cputrain.engines.torch_.quantized import LEVELS, int_mm_is_exact
from cputrain.experiment import Experiment


def prepare(model: nn.Module, experiment: Experiment) -> nn.Module:
    """Turn a model with its fp32 weights in place into one of this precision; the same module.

    Comes before the optimizer is built, as parameters may be replaced, and before compilation.

    Raises:
        EngineError: torchao cannot be imported, or int8 products are not exact on this machine.
    """
    precision = experiment.training.precision
    if precision == "bf16":
        model.to(torch.bfloat16)
    elif precision in torchao_.LAYERS:
        torchao_.convert(model, precision)
    if precision in LEVELS:
        _require_exact(model, precision)
    return model


def autocast(experiment: Experiment) -> AbstractContextManager[Any]:
    """What the forward pass and the loss have to run in."""
    if experiment.training.precision == "mixed":
        manager: AbstractContextManager[Any] = torch.autocast("cpu", torch.bfloat16)
        return manager
    return nullcontext()


def readings() -> dict[str, bool]:
    """Whether oneDNN has bf16 instructions to use here; without them bf16 is right, but slow."""
    return {"mkldnn_bf16": bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())}


def plain(tensor: Tensor) -> Tensor:
    """The tensor that holds the numbers: torchao puts a class of its own around it."""
    while is_traceable_wrapper_subclass(tensor):
        tensor = getattr(tensor, tensor.__tensor_flatten__()[0][0])
    return tensor.detach()


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A float32 copy of a parameter or gradient."""
    array: np.ndarray = plain(tensor).to(torch.float32, copy=True).numpy()
    return array


def load(parameter: Tensor, array: np.ndarray) -> None:
    """Put float32 values in place, rounded to nearest where the parameter is bf16."""
    with torch.no_grad():
        plain(parameter).copy_(torch.from_numpy(array))


def _require_exact(model: nn.Module, precision: str) -> None:
    for n_out, n_in in sorted({tuple(layer.weight.shape) for layer in layers_of(model)}):
        if not int_mm_is_exact(n_in, n_out, *LEVELS[precision]):
            raise EngineError(
                f"precision = {precision!r}: torch._int_mm gives wrong sums on this CPU for "
                f"{n_in} x {n_out}: without VNNI its products saturate at 16 bits"
            )
