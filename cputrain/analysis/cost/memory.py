"""The parts of a worker's memory that have a coefficient each. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping

from cputrain.experiment import Experiment
from cputrain.model.memory_estimate import memory_bytes

PARTS = ("framework", "weights", "activations", "logits")
"""Of `model.memory_estimate.Memory`; weights are parameters, gradients and the optimizer's state,
logits what the vocabulary makes of the activations, with masks, tables and the loader's queue."""


def parts(experiment: Experiment) -> dict[str, float]:
    """Bytes by part, as they are counted before a step is run."""
    held = memory_bytes(experiment)
    training, vocabulary = experiment.training, experiment.model.vocab_size
    logits = 4.0 * training.batch_size * training.seq_len * vocabulary
    logits = min(3 * logits, held.activations)
    return {
        "framework": float(held.framework),
        "weights": float(held.parameters + held.gradients + held.optimizer),
        "activations": held.activations - logits,
        "logits": logits + held.buffers + held.queue,
    }


def total(experiment: Experiment, coefficients: Mapping[str, float]) -> float:
    """Bytes at the peak."""
    return sum(size * coefficients[name] for name, size in parts(experiment).items())
