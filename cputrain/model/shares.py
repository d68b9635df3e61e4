"""One process's share of an experiment, where several train together: its part of the batch."""

from __future__ import annotations

import math

from cputrain.experiment import Experiment


def parts(experiment: Experiment, size: int) -> tuple[int, int]:
    """Into how many parts `size` ranks split a micro-batch's rows, and a step's micro-batches.

    Rows first: with as many rows as ranks, or a multiple, every rank has some of each micro-batch.
    Where they are fewer, as many ranks as the rows divide by share a micro-batch.

    Returns:
        Two numbers whose product is `size`; they divide batch_size and grad_accum wherever
        `size` divides batch_size x grad_accum.
    """
    rows = math.gcd(experiment.training.batch_size, size)
    return rows, size // rows


def of_rank(experiment: Experiment, size: int) -> Experiment:
    """What one of `size` ranks runs by itself: the same with its part of a step's batch."""
    rows, micro_batches = parts(experiment, size)
    training = experiment.training
    return experiment.but(
        batch_size=training.batch_size // rows,
        grad_accum=training.grad_accum // micro_batches,
        processes=None,
    )
