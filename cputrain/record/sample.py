"""One sample: timed steps, what they lost, and what else went on meanwhile."""

from __future__ import annotations

import statistics
from typing import Annotated, Literal

from msgspec import Meta, field

from cputrain.record.noise import Noise, was_moved
from cputrain.record.part import Count, Number, Part, Readings, Seconds, StepSeconds
from cputrain.record.proof import Check

MOST_APART, MOST_LOST = 0.08, 0.25
"""Shares of a block's time that others may take: more than of the block beside it, and at all.

A steal of 10 ms, the kernel's tick, is 10 % of a block of 0.05 s on two CPUs: in one that short a
single tick more than in the other drops the pair.
"""


class RankSample(Readings, frozen=True, kw_only=True):
    """What one of several processes says of a sample.

    Attributes:
        losses: of its own rows, by step.
        sent_bytes: by TCP during the steps.
    """

    losses: list[Number]
    sent_bytes: Count | None
    peak_rss_bytes: Count | None
    noise: Noise
    busy: Check


class Exchange(Part, frozen=True, kw_only=True):
    """Gradients that processes exchanged.

    Attributes:
        payload_bytes: of one process's gradients.
        ring_bytes: what each of them has to send in a step at least.
        sent_bytes_per_step: by process; None where the kernel does not say.
    """

    payload_bytes: Count
    ring_bytes: Number
    sent_bytes_per_step: list[Number | None]


class Sample(Part, frozen=True, kw_only=True):
    """Timed steps of one worker without a break.

    Attributes:
        step_s: seconds of each step.
        held_up_s: of each step, seconds that its threads waited for CPUs that others had
            (`worker.step_delays`); empty where that cannot be told.
        loss: of each step.
        discarded_s: seconds of the steps right before them, which are off the clock.
        tries: how often the sample was taken, of which this is the calmest.
        disturbed: other work on the machine held it up.
        waited_s: seconds that the steps waited for a streaming loader.
        ranks, exchange: of several processes that train together.
        forward_s, backward_s, optimizer_s: of a step's passes, micro-batches summed: medians over
            the steps. None where the engine sees no boundaries (`answers.Ready.no_passes`), and in
            records of earlier versions.
    """

    step_s: Annotated[list[StepSeconds], Meta(min_length=1)]
    loss: list[Number]
    held_up_s: list[Seconds] = field(default_factory=list)
    discarded_s: Seconds = 0.0
    tries: Count = 1
    disturbed: bool = False
    noise: Noise = Noise()
    busy: Check | None = None
    waited_s: Number | None = None
    ranks: list[RankSample] = field(default_factory=list)
    exchange: Exchange | None = None
    forward_s: Seconds | None = None
    backward_s: Seconds | None = None
    optimizer_s: Seconds | None = None

    def __post_init__(self) -> None:
        if self.held_up_s and len(self.held_up_s) != len(self.step_s):
            raise ValueError("held_up_s is not as long as step_s")

    @property
    def median_s(self) -> float:
        """Seconds of a step: what asv's clock grows by."""
        return statistics.median(self.step_s)

    @property
    def net_s(self) -> float:
        """As `median_s`, less what others held up: of a step, half of it at most."""
        steps = zip(self.step_s, self.held_up_s, strict=True)
        return statistics.median(step_s - min(held_s, step_s / 2) for step_s, held_s in steps)

    @property
    def held_up_share(self) -> float:
        """Of the block's time, what others held up and `net_s` leaves out."""
        wall_s = self.noise.wall_s or sum(self.step_s)
        return sum(self.held_up_s) / wall_s

    @property
    def faults_per_s(self) -> float:
        """Page faults that the kernel served without a disk; 0 where they were not counted."""
        return (self.noise.minor_faults or 0) / (self.noise.wall_s or sum(self.step_s))

    def is_spoilt_beside(self, other: Sample) -> bool:
        """Whether somebody else took more of this block than of the one beside it, or much of it.

        What takes as much of both leaves their ratio as it is, and so does what `net_s` leaves out.
        Time that the hypervisor gave to others counts, and time that threads waited for a CPU;
        where that is not known in shares, `disturbed` says it. A CPU that moved meanwhile spoils
        both (`noise.was_moved`).
        """
        own, beside = self.noise, other.noise
        if self.ranks or own.lost_share is None or beside.lost_share is None:
            waited = self.disturbed
        else:
            left, left_beside = own.lost_share, beside.lost_share
            if is_net(self, other):
                left, left_beside = left - self.held_up_share, left_beside - other.held_up_share
            waited = own.lost_share > MOST_LOST or left > left_beside + MOST_APART
        stolen, stolen_beside = own.steal_share or 0.0, beside.steal_share or 0.0
        stole = stolen > min(stolen_beside + MOST_APART, MOST_LOST)
        return waited or stole or was_moved(own, beside)


def is_net(own: Sample, other: Sample) -> bool:
    """Whether two blocks are compared less what others held up: it is known of both."""
    return bool(own.held_up_s and other.held_up_s)


def compared_s(own: Sample, other: Sample) -> tuple[float, float]:
    """Seconds of a step of two blocks, as their ratio compares them."""
    return (own.net_s, other.net_s) if is_net(own, other) else (own.median_s, other.median_s)


def spoilt_sides(own: Sample, reference: Sample) -> tuple[bool, bool]:
    """Whether a cell's block was spoilt, and that of the reference beside it."""
    return own.is_spoilt_beside(reference), reference.is_spoilt_beside(own)


class Pair(Part, frozen=True, kw_only=True):
    """A block of a cell's worker beside one of its reference's.

    Attributes:
        sample: number of the cell's own block, from 0.
        reference: the other's.
        first: which of the two ran first.
    """

    sample: Count
    reference: Sample
    first: Literal["cell", "reference"]


class SpoiltPair(Part, frozen=True, kw_only=True):
    """A pair that was taken again, as others had one of its blocks: it counts as dropped.

    Attributes:
        own: the cell's block.
        reference: the other's.
        first: which of the two ran first.
    """

    own: Sample
    reference: Sample
    first: Literal["cell", "reference"]

    @property
    def disturbed_sides(self) -> tuple[bool, bool]:
        """Whether its own block was spoilt, and the reference's."""
        return spoilt_sides(self.own, self.reference)
