"""How often each matrix product of a layer runs in a training step. Standard library only.

A layer y = x W^T has three products: y itself, the gradient by x and the gradient by W.
"""

from __future__ import annotations

from typing import NamedTuple

from cputrain.experiment import Experiment
from cputrain.model import on_paper
from cputrain.model.shapes import is_trained

INT8 = {
    "q8": (True, False, False),
    "q8_torchao": (True, True, True),
    "bitnet_torchao": (True, False, False),
}
"""Precision -> which products of the blocks' layers are int8: forward, by input, by weight."""


class Runs(NamedTuple):
    """Runs of a layer's three products."""

    forward: int
    by_input: int
    by_weight: int


def runs(experiment: Experiment, name: str) -> Runs:
    """Runs of the products with this weight (a name of `model.shapes`) in one micro-batch.

    Frozen weights get no gradient, and below the lowest trained weight nothing does: with
    fine_tuning = "lora" that is the first block's addition to qkv, whose input is frozen too.
    """
    training = experiment.training
    if training.objective == "forward":
        return Runs(1, 0, 0)
    lowest = ("h.0.attn.qkv.weight", "h.0.attn.qkv.lora_a")
    reached = training.fine_tuning != "head" and not (
        training.fine_tuning == "lora" and name in lowest
    )
    again = name.startswith("h.") and training.activation_checkpointing
    left_out = again and on_paper.of(experiment).leaves_out(experiment, name)
    forward = 2 if again and not left_out else 1
    return Runs(forward, int(reached), int(is_trained(experiment, name)))


LAST = {
    "gpt": "mlp.proj.weight",
    "llama": "mlp.proj.weight",
    "gmlp": "proj.weight",
    "ssm": "proj.weight",
}
"""Last layer of a block that ends in it and an addition, which keeps nothing."""


def is_last(experiment: Experiment, name: str) -> bool:
    """Whether a weight is that of the last layer of its block, which keeps nothing of its own."""
    return name.split(".", 2)[2] == LAST.get(experiment.model.architecture)
