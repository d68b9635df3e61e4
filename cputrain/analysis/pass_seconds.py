"""How long another pass of a cell takes, by its last worker."""

from __future__ import annotations

import statistics

from cputrain.experiment import Experiment
from cputrain.record.sample import Sample
from cputrain.record.worker import WorkerRecord
from cputrain.worker import blocks
from cputrain.worker.blocks import SideSeconds


def pass_s(worker: WorkerRecord, pairs: int | None = None) -> float:
    """Seconds of a worker like this one, all included; 0 where it does not say how long it took.

    As large a share of its pairs is taken again as was of this one's.

    Args:
        worker: of the cell.
        pairs: of blocks that the pass takes; where left out, as many as a first one does.
    """
    wall_s = worker.wall_s or 0.0
    if not worker.pairs:
        return wall_s
    own = _side([worker.samples[pair.sample] for pair in worker.pairs])
    reference = _side([pair.reference for pair in worker.pairs])
    if pairs is None:
        most = Experiment.from_json(worker.experiment).budget.samples
        pairs = blocks.pairs(most, own, reference)
    tries = 1 + len(worker.spoilt_pairs) / len(worker.pairs)
    more = tries * (pairs - len(worker.pairs))
    return max(0.0, wall_s + more * (own.block_s + reference.block_s))


def _side(samples: list[Sample]) -> SideSeconds:
    step_s = statistics.median(sample.median_s for sample in samples)
    block_s = statistics.median(sum(sample.step_s) for sample in samples)
    return SideSeconds(step_s, block_s + blocks.discarded(step_s) * step_s)
