"""One process's share of an experiment, where several train together: its part of the batch."""

from __future__ import annotations

from cputrain.experiment import Experiment


def of_rank(experiment: Experiment, size: int) -> Experiment:
    """What one of `size` ranks runs by itself: the same with its part of the batch."""
    return experiment.but(batch_size=experiment.training.batch_size // size, processes=None)
