"""The learning rate of each update, as an experiment says it. Standard library only."""

from __future__ import annotations

from cputrain.experiment.parts import Training


def rate_at(training: Training, step: int) -> float:
    """The learning rate of update `step`, counted from 1: linear growth, then constant.

    With lr_warmup_steps = n, update 1 has 1/n of the learning rate and update n all of it.
    """
    return training.learning_rate * min(1.0, step / max(1, training.lr_warmup_steps))
