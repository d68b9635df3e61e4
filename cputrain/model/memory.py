"""Memory of a training step, part by part, before it is run. Standard library only.

So that an experiment can be refused before anything is imported.
"""

from __future__ import annotations

from dataclasses import dataclass

from cputrain.experiment import Experiment
from cputrain.model.shapes import n_params

FLOAT = 4
"""Bytes of a float32."""


@dataclass(frozen=True)
class Memory:
    """Bytes at the peak of a worker's resident memory, by what they hold.

    Attributes:
        parameters: the trained weights and the initial ones, kept to prove that they moved.
        gradients: one per parameter.
        optimizer: AdamW's two moments.
        activations: what the backward pass needs, and its largest temporaries.
        framework: interpreter, libraries and their buffers.
    """

    parameters: int
    gradients: int
    optimizer: int
    activations: int
    framework: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.parameters + self.gradients + self.optimizer + self.activations + self.framework


FRAMEWORK = {"torch": 330_000_000, "numpy": 60_000_000}
"""Resident bytes of a worker after its imports, by engine."""
COMPILER = {"eager": 0, "aot_eager": 80_000_000, "inductor": 130_000_000}
"""Resident bytes more, by torch.compile's backend."""


def memory_bytes(experiment: Experiment) -> Memory:
    """Estimated peak memory of a worker: good to refuse what cannot fit, not to plan by the byte.

    What the engines keep is counted; the constants were measured, and so were the sums: 0.85
    to 1.2 times the peak, for seq_len 128 to 2048, batch_size 1 to 64, n_embd 128 to 2048,
    vocab_size 257 to 50 000 (torch 2.13, NumPy 2.4).
    """
    runtime, size = experiment.runtime, n_params(experiment) * FLOAT
    return Memory(
        parameters=2 * size,
        gradients=size,
        optimizer=2 * size,
        activations=_activations(experiment) * FLOAT,
        framework=FRAMEWORK[runtime.engine] + COMPILER[runtime.compile],
    )


def _activations(experiment: Experiment) -> int:
    """Numbers kept for the backward pass, and those in use beside them at the peak."""
    model, training, runtime = experiment.model, experiment.training, experiment.runtime
    tokens, width, ratio = training.tokens_per_step, model.n_embd, model.mlp_ratio
    pairs = training.batch_size * model.n_head * training.seq_len**2
    # Both norms' inputs and outputs, q, k, v, attention's output; the hidden layer twice.
    block = tokens * width * (8 + 2 * ratio)
    if runtime.engine == "numpy":
        used = tokens * (model.vocab_size + (7 + ratio) * width) + pairs
        return model.n_layer * (block + pairs) + used
    used = tokens * (3 * model.vocab_size + 4 * ratio * width)
    if runtime.attention_backend == "manual":
        block += pairs + 3 * tokens * width  # the weights, and q, k, v as one block per head
        used += 2 * pairs
    return model.n_layer * block + used
