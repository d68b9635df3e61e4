"""The module that is trained: model, weights, precision, low-rank additions, what is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from cputrain.engines import check_weights
from cputrain.engines.torch_ import lora, model, precision
from cputrain.experiment import Experiment
from cputrain.model.shapes import trained, weight_shapes

if TYPE_CHECKING:
    from cputrain.engines import Weights


def assemble(experiment: Experiment, weights: Weights) -> nn.Module:
    """The experiment's module with copies of `weights`; what is not trained needs no gradient.

    Raises:
        EngineError: the weights do not fit, or the precision cannot be had here.
    """
    check_weights(weight_shapes(experiment), weights)
    with torch.device("meta"):
        module = model.build(experiment)
    # clone: torch's own memory is aligned to 64 bytes, NumPy's is not.
    copies = {name: torch.from_numpy(array).clone() for name, array in weights.items()}
    added = {name: copies.pop(name) for name in weights if ".lora_" in name}
    module.load_state_dict(copies, assign=True)
    module = precision.prepare(module, experiment)
    if added:  # after prepare, which may replace the layers
        lora.adapt(module, added)
    free = set(trained(experiment))
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name in free)
    return module
