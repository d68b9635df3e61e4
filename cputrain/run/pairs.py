"""A pair: a block of a cell's worker and one of its reference, again where others spoilt one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cputrain.record.answers import Sampled
from cputrain.record.noise import was_moved
from cputrain.record.sample import Pair, SpoiltPair, spoilt_sides
from cputrain.record.worker import WorkerRecord
from cputrain.worker import blocks
from cputrain.worker.blocks import Side


@dataclass(frozen=True)
class NextPair:
    """A pair that counts, unless others spoilt the last try too, and those before it.

    Attributes:
        own: the cell's block, the next sample of its record.
        pair: with the reference's.
        spoilt: pairs that others spoilt.
    """

    own: Sampled
    pair: Pair
    spoilt: list[SpoiltPair]


def take(record: WorkerRecord, wanted: int, block: Callable[[Side], Sampled]) -> NextPair:
    """The next pair of a worker.

    Args:
        record: of the worker so far.
        wanted: pairs in all.
        block: trains a block of a side.
    """
    spoilt = list(record.spoilt_pairs)
    counting = sum(not any(record.disturbed_sides(pair)) for pair in record.pairs)
    without = counting + wanted - len(record.pairs) - 1  # that may count if this one does not
    while True:
        first, second = blocks.order(record.id, len(record.pairs) + len(spoilt))
        taken = {first: block(first), second: block(second)}
        own, reference = taken["cell"].sample, taken["reference"].sample
        takes_s = sum(own.step_s) + sum(reference.step_s)
        lacks = without < blocks.FEWEST_PAIRS and was_moved(own.noise, reference.noise)
        again = blocks.may_be_again(len(spoilt), wanted, takes_s, lacks)
        if not (again and any(spoilt_sides(own, reference))):
            break
        spoilt.append(SpoiltPair(own=own, reference=reference, first=first))
    pair = Pair(sample=len(record.samples), reference=reference, first=first)
    return NextPair(taken["cell"], pair, spoilt)
