"""What every engine asks of a batch before it trains on it."""

from __future__ import annotations

from cputrain.data.batches import IGNORE, Batch
from cputrain.engines import EngineError
from cputrain.experiment import Experiment


def check(experiment: Experiment, batch: Batch) -> None:
    """Raise EngineError for another shape than the experiment's, or ids without a row."""
    check_shape(experiment, batch)
    rows = experiment.model.vocab_size
    for ids in (batch.inputs, batch.targets[batch.targets != IGNORE]):
        if ids.size and not (ids.min() >= 0 and ids.max() < rows):
            raise EngineError(f"token ids {ids.min()} to {ids.max()}: the vocabulary has {rows}")


def check_shape(experiment: Experiment, batch: Batch) -> None:
    """Raise EngineError for another shape; torch looks at the ids itself."""
    training = experiment.training
    shape = (training.batch_size, training.seq_len)
    for array in (batch.inputs, batch.targets, batch.relations, batch.node_targets):
        if array is not None and array.shape != shape:
            raise EngineError(f"batch of shape {array.shape}: {shape} is needed")
