"""Low-rank adaptation of linear layers (Hu et al. 2022), beside whatever layer is there."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.model.lora import ALPHA
from cputrain.model.shapes import LORA_RANK


def adapt(model: nn.Module, added: Mapping[str, Tensor]) -> None:
    """Let the layers give layer(x) + (x @ a.T) @ b.T * (ALPHA / rank).

    The tensors become parameters of the layer itself, so that its own keep their names, in its
    own precision. Must come before torch.compile.

    Args:
        model: has the layers.
        added: `<layer>.lora_a` [rank, in] and `<layer>.lora_b` [out, rank], by name.
    """
    for name, tensor in added.items():
        place, _, kind = name.rpartition(".")
        layer = model.get_submodule(place)
        layer.register_parameter(kind, nn.Parameter(tensor.to(layer.weight.dtype)))
        if kind == "lora_a":
            layer.register_forward_hook(_add)


def _add(layer: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    low = F.linear(F.linear(inputs[0], layer.lora_a), layer.lora_b)
    return output + low * (ALPHA / LORA_RANK)
