"""One process's share of an experiment, where several train together: its rows of every batch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cputrain.experiment import Experiment

if TYPE_CHECKING:
    from cputrain.data.batches import Batch


def of_one(experiment: Experiment, size: int) -> Experiment:
    """What one of `size` ranks runs by itself: the same with its part of the batch."""
    return experiment.but(batch_size=experiment.training.batch_size // size, processes=None)


def rows(batch: Batch, rank: int, size: int) -> Batch:
    """Rows [rank * B / size, (rank + 1) * B / size) of a batch of B sequences."""
    each = len(batch.inputs) // size
    mine = slice(rank * each, (rank + 1) * each)
    arrays = {name: array[mine] for name, array in vars(batch).items() if array is not None}
    return replace(batch, **arrays)
