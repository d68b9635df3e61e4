"""Quantities that no pair tells: from the blocks and the data of the workers' records."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.claims.claim import ClaimPair
from cputrain.analysis.claims.evidence import CannotTell, ClaimEvidence, MeasuredQuantity
from cputrain.record.sample import Sample


@dataclass(frozen=True)
class WaitingChecks:
    """Share of a step that training waits for its loader: of the reference's blocks."""

    pair: ClaimPair
    unit: str = "share"

    @property
    def label(self) -> str:
        """Whose."""
        return f"share of a step of {self.pair.beside} spent waiting for data"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """The median over blocks, lowest to highest. Raises CannotTell."""
        blocks = [p.reference for w in evidence.workers(self.pair.name) for p in w.pairs]
        return _over([_waited(block) for block in _calm(blocks)], self.pair)


@dataclass(frozen=True)
class Seconds:
    """Seconds that some steps of a pair's experiment take."""

    pair: ClaimPair
    label: str
    steps: int
    unit: str = "s"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """Steps x the median over blocks, of any minute. Raises CannotTell."""
        samples = [s for w in evidence.workers(self.pair.name) for s in w.samples]
        seconds = [self.steps * sample.median_s for sample in _calm(samples)]
        return _over(seconds, self.pair, ANOTHER_MINUTE)


@dataclass(frozen=True)
class Preparing:
    """Seconds that tokenizing took, over those of an epoch of a pair's experiment."""

    pair: ClaimPair
    unit: str = "share"

    @property
    def label(self) -> str:
        """Of what."""
        return f"tokenizing over an epoch of {self.pair.change}"

    @property
    def pairs(self) -> tuple[str, ...]:
        """The one."""
        return (self.pair.name,)

    def of(self, evidence: ClaimEvidence) -> MeasuredQuantity:
        """The share by every block's step time, of any minute. Raises CannotTell."""
        shares = []
        for worker in evidence.workers(self.pair.name):
            data = worker.data
            if data is None or data.prepared_s is None or not data.steps_per_epoch:
                raise CannotTell(f"{self.pair.name}: the record does not say what tokenizing took")
            epochs = [data.steps_per_epoch * block.median_s for block in _calm(worker.samples)]
            shares += [data.prepared_s / epoch_s for epoch_s in epochs]
        return _over(shares, self.pair, ANOTHER_MINUTE)


def _calm(blocks: Sequence[Sample]) -> list[Sample]:
    """Those during which nobody else had the CPUs."""
    return [block for block in blocks if not block.disturbed]


FEWEST_BLOCKS = 8
"""Lowest to highest of n hold the true median with a chance of 1 - 2^(1 - n): 99.2 % of eight, if
each is of its own minute. Those of one worker are not: see `ANOTHER_MINUTE`."""
ANOTHER_MINUTE = 1.3
"""Ratio that seconds of one worker may be off by: medians of one minute drifted by 11 to 27 %."""


def _over(values: list[float], pair: ClaimPair, off_by: float = 1.0) -> MeasuredQuantity:
    """The median, lowest to highest of `FEWEST_BLOCKS` or more.

    Args:
        values: of blocks.
        pair: whose they are.
        off_by: ratio that all of them may be off by.

    Raises:
        CannotTell: there are too few.
    """
    if len(values) < FEWEST_BLOCKS:
        why = f"{pair.name}: {len(values)} blocks were not disturbed, {FEWEST_BLOCKS} are needed"
        raise CannotTell(why, further_passes=1)
    low, high = min(values) / off_by, max(values) * off_by
    return MeasuredQuantity(statistics.median(values), low, high)


def _waited(block: Sample) -> float:
    return (block.waited_s or 0.0) / sum(block.step_s)
