"""How often each matrix product of a layer runs in a training step. Standard library only.

A layer y = x W^T has three products: y itself, the gradient by x and the gradient by W.
"""

from __future__ import annotations

from typing import NamedTuple

from cputrain.experiment import Experiment
from cputrain.model.shapes import trained

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
    forward = 2 if again and not _is_left_out(experiment, name) else 1
    return Runs(forward, int(reached), int(name in trained(experiment)))


LAST = {
    "gpt": "mlp.proj.weight",
    "llama": "mlp.proj.weight",
    "gmlp": "proj.weight",
    "ssm": "proj.weight",
}
"""Last layer of a block that ends in it and an addition, which keeps nothing."""


def _is_left_out(experiment: Experiment, name: str) -> bool:
    """Whether recomputing stops before this layer, as nothing is kept of what follows it.

    torch.utils.checkpoint stops once it has every tensor that the backward pass asks for. XLA
    leaves out whatever no result needs.
    """
    if experiment.runtime.engine == "jax":
        return name.endswith("mlp.proj.weight")
    # Dropout keeps its mask, an int8 layer what it has rounded itself; and oneDNN's layer is a
    # function whose tensors are kept once it has run.
    runtime, precision = experiment.runtime, experiment.training.precision
    packed = runtime.auto_kernel_selection or precision == "bf16"  # by IPEX, for oneDNN
    by_function = runtime.matmul_backend == "onednn" or (runtime.engine == "ipex" and packed)
    if experiment.model.dropout or precision in INT8 or by_function:
        return False
    return name.split(".", 2)[2] == LAST.get(experiment.model.architecture)
