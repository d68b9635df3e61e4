"""The parts of a worker's memory that have a coefficient each. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping

from cputrain.experiment import Experiment
from cputrain.model import on_paper
from cputrain.model.fresh import LARGE, TABLES
from cputrain.model.memory_estimate import memory_bytes

PARTS = {"framework": 1.0, "weights": 1.0, "activations": 1.0, "logits": 1.0, "heap": 3.0}
"""By name, the coefficient that is expected before anything is measured.

They are of `model.memory_estimate.Memory`; weights are parameters, gradients and the optimizer's
state, logits what the vocabulary makes of the activations, with masks, tables and the loader's
queue. heap is one array of logits that is smaller than what glibc maps by itself: the arenas of
the thread that computes and of the one that goes backward keep what such ones leave (6 to 10
arrays: a step with logits of 33 MB had a higher peak than one with logits of 51 MB).
"""
FLOAT = 4
"""Bytes of a float32."""


def parts(experiment: Experiment) -> dict[str, float]:
    """Bytes by part, as they are counted before a step is run."""
    held = memory_bytes(experiment)
    model, training = experiment.model, experiment.training
    array = float(FLOAT * training.batch_size * training.seq_len * model.vocab_size)
    logits = min(3 * array, held.activations)
    by_array = on_paper.of(experiment).allocates == "arrays"
    trains = training.objective != "forward"
    summed = (TABLES - 1) * FLOAT * model.vocab_size * model.n_embd
    return {
        "framework": float(held.framework),
        "weights": float(held.parameters + held.gradients + held.optimizer)
        + summed * (by_array and trains and model.tied),
        "activations": held.activations - logits,
        "logits": logits + held.buffers + held.queue,
        "heap": array if by_array and array < LARGE else 0.0,
    }


def total(experiment: Experiment, coefficients: Mapping[str, float]) -> float:
    """Bytes at the peak."""
    return sum(size * coefficients[name] for name, size in parts(experiment).items())
