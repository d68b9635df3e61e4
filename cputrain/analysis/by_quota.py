"""Whether a CPU quota spoilt pairs of blocks, rather than what else ran on the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cputrain.record.sample import Sample
from cputrain.record.worker import WorkerRecord

Blocks = tuple[Sample, Sample]


def is_by_quota(workers: Iterable[WorkerRecord]) -> bool:
    """Whether a quota held threads back during most of the pairs that do not count.

    False where all count.
    """
    held_back = [any(map(_is_throttled, blocks)) for w in workers for blocks in _spoilt(w)]
    return 2 * sum(held_back) > len(held_back)


def _spoilt(worker: WorkerRecord) -> Iterator[Blocks]:
    for spoilt in worker.spoilt_pairs:
        yield spoilt.own, spoilt.reference
    for pair in worker.pairs:
        if any(worker.disturbed_sides(pair)):
            yield worker.samples[pair.sample], pair.reference


def _is_throttled(block: Sample) -> bool:
    return (block.noise.throttled_s or 0.0) > 0.0
