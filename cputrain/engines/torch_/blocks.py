"""Which block an architecture is made of."""

from __future__ import annotations

import importlib

from torch import nn

from cputrain.experiment import Experiment

BLOCKS = {
    "gpt": "transformer",
    "llama": "transformer",
    "bert": "transformer",
    "lstm": "lstm",
    "gmlp": "gmlp",
    "ssm": "ssm",
    "moe": "moe",
}
"""Architecture -> file of this package whose `Block(experiment)` it stacks."""


def make(experiment: Experiment) -> nn.Module:
    """One block [B, T, C] -> [B, T, C], its norms, residuals and their dropout included.

    Only the file of this architecture is imported.
    """
    name = BLOCKS[experiment.model.architecture]
    block: nn.Module = importlib.import_module(f"cputrain.engines.torch_.{name}").Block(experiment)
    return block
