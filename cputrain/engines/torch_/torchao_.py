"""torchao's own training in int8 and ternary weights. torchao is imported for these alone."""

from __future__ import annotations

import logging
from typing import Any

from torch import nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from cputrain.engines import EngineError

LAYERS = ("q8_torchao", "bitnet_torchao")
"""Precisions that torchao has."""


def convert(model: nn.Module, precision: str) -> None:
    """Let torchao replace the linear layers of the blocks; names and frozen weights stay.

    Raises:
        EngineError: torchao cannot be imported.
    """
    # It warns of each of its libraries that are for other hardware.
    logging.getLogger("torchao").setLevel(logging.ERROR)
    try:
        from torchao.prototype import quantized_training
        from torchao.quantization import quantize_
    except ImportError as error:
        raise EngineError(
            f"precision = {precision!r}: torchao cannot be imported: {error}"
        ) from error
    config: Any
    if precision == "q8_torchao":
        # Without module_swap it changes a class of tensors that F.linear does not ask: plain fp32.
        config = quantized_training.int8_mixed_precision_training(module_swap=True)
    else:
        config = quantized_training.bitnet_training()
    frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
    quantize_(model.h, config, filter_fn=lambda layer, _: isinstance(layer, nn.Linear))
    for name in frozen:
        model.get_parameter(name).requires_grad_(False)


def is_converted(layer: nn.Module) -> bool:
    """Whether torchao has replaced this layer, or the class of its weight."""
    return type(layer).__module__.startswith("torchao.") or is_traceable_wrapper_subclass(
        layer.weight
    )
