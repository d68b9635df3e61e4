"""Which pairs of a cell count, as passes.

A pair is dropped as a whole where others took more of one of its blocks than of the other
(`record.sample.Sample.is_spoilt_beside`): by the time that threads waited for a CPU and by what the
hypervisor took, never by how long the steps took: a rule that saw step times would drop slow
blocks, and with them the truth. Nor do those count that were taken while the CPUs lay elsewhere
than for most of the machine's cells (`analysis.places`), where the cell has enough others; of a
cell of long blocks within which CPUs were moved all count where it has not.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cputrain.analysis.paired.model import Pass
from cputrain.analysis.places import FEWEST_PAIRS, Place, Places
from cputrain.record.noise import hold_several_places
from cputrain.record.sample import Sample, is_net
from cputrain.record.worker import WorkerRecord

Sort = Literal["net", "whole", "faulting", "moved"]
"""Of pairs, by what their noise is of: steps less what others held up, whole steps, page faults,
CPUs that were moved within long blocks."""

MANY_FAULTS = 30_000
"""Page faults a second from which they make the noise of a block: with fewer than 10 000, pairs of
torch scattered by 3.9 %, from 30 000 to 60 000 by 6.6 %, beyond 200 000 by 9.8 %, whatever their
steps took (docs/figures/turns.md). In a virtual machine the host has a part in each."""


@dataclass(frozen=True)
class Counted:
    """The pairs of some workers.

    Attributes:
        passes: of each worker the pairs that count; a worker without one is no pass.
        pairs: all that there are, dropped ones and those that were taken again too.
        elsewhere: pairs that do not count as their CPUs lay elsewhere.
        place: where the CPUs were during those that count; None where that is not known.
        cell, reference: pairs whose block of that side was disturbed; a pair may be in both.
        held_up: of the pairs that count and are compared without it, the share of either block's
            time that others held up.
        faults_per_s: median over the pairs that count of the larger one of their blocks' page
            faults a second.
    """

    passes: tuple[Pass, ...]
    pairs: int
    cell: int
    reference: int
    held_up: tuple[tuple[float, float], ...] = ()
    elsewhere: int = 0
    place: Place | None = None
    faults_per_s: float = 0.0

    @property
    def dropped(self) -> int:
        """Pairs that do not count for what others did."""
        return self.pairs - self.elsewhere - self._counting

    @property
    def sort(self) -> Sort:
        """What most of the pairs that count are: moved, else of many faults, else net or whole."""
        if self.place == "moved":
            return "moved"
        if self.faults_per_s >= MANY_FAULTS:
            return "faulting"
        return "net" if 2 * len(self.held_up) > self._counting else "whole"

    @property
    def _counting(self) -> int:
        return sum(len(pass_.log_ratios) for pass_ in self.passes)

    @property
    def cell_share(self) -> float | None:
        """Share of all pairs whose own block was disturbed, 0 to 1; None without a pair."""
        return self.cell / self.pairs if self.pairs else None

    @property
    def reference_share(self) -> float | None:
        """The same of the reference's block."""
        return self.reference / self.pairs if self.pairs else None

    @property
    def held_up_shares(self) -> tuple[float, float] | None:
        """Mean of `held_up` of the cell's blocks, and of the reference's; None without any."""
        if not self.held_up:
            return None
        own, other = (statistics.fmean(side) for side in zip(*self.held_up, strict=True))
        return own, other


def counted(workers: Iterable[WorkerRecord], places: Places | None = None) -> Counted:
    """The pairs of these workers, a pass for each worker.

    Args:
        workers: of one cell, or of several.
        places: of the machine. Pairs at its usual place count where these workers have
            `places.FEWEST_PAIRS` there, else all of them where CPUs were moved within long blocks,
            else those at the place where most of theirs are. None takes the pairs of all places
            together, without those within which it changed.
    """
    workers = list(workers)
    place = _place(workers, places)
    passes, held_up, faults_per_s = [], [], []
    pairs, cell, reference, elsewhere = 0, 0, 0, 0
    for worker in workers:
        ratios = []
        for spoilt in worker.spoilt_pairs:
            own, other = spoilt.disturbed_sides
            pairs, cell, reference = pairs + 1, cell + own, reference + other
        for pair in worker.pairs:
            own, other = worker.disturbed_sides(pair)
            pairs, cell, reference = pairs + 1, cell + own, reference + other
            if own or other:
                continue
            block = worker.samples[pair.sample]
            if _is_elsewhere(block, pair.reference, place, places):
                elsewhere += 1
                continue
            ratios.append(worker.log_ratio(pair))
            held_up += _held_up(block, pair.reference)
            faults_per_s.append(max(block.faults_per_s, pair.reference.faults_per_s))
        if ratios:
            passes.append(Pass(tuple(ratios)))
    return Counted(
        tuple(passes),
        pairs,
        cell,
        reference,
        tuple(held_up),
        elsewhere,
        place,
        statistics.median(faults_per_s) if faults_per_s else 0.0,
    )


def _place(workers: Sequence[WorkerRecord], places: Places | None) -> Place | None:
    """Where the pairs of these workers count."""
    if places is None:
        return None
    own, usual = places.counts(workers), places.usual
    if not own or usual is None:
        return None
    if own.get(usual, 0) >= FEWEST_PAIRS:
        return usual
    if own.get("moved"):
        return "moved"
    return max(own.items(), key=lambda its: its[1])[0]


def _is_elsewhere(
    own: Sample, reference: Sample, place: Place | None, places: Places | None
) -> bool:
    blocks = own.noise, reference.noise
    if places is None:
        return hold_several_places(*blocks)
    return place != "moved" and places.of_blocks(blocks) not in (place, None)


def _held_up(own: Sample, other: Sample) -> list[tuple[float, float]]:
    """Shares that a pair leaves out; nothing of one that compares whole steps."""
    return [(own.held_up_share, other.held_up_share)] if is_net(own, other) else []
