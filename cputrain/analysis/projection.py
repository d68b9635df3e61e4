"""How long a run will take: a minute of its steps, and how this machine's speed changes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from cputrain.analysis.drift import Drift, Moments, Starts, learned
from cputrain.record.projection import ProjectionRecord
from cputrain.record.sample import Sample

LEVEL = 0.9
"""Of the interval: as wide as people plan with."""
MILESTONES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of the steps that are left, each to the nearest step."""
STEPS_OF_A_MOMENT = 5
"""A moment of the records is of five pairs of blocks, of one step each."""


@dataclass(frozen=True)
class Milestone:
    """Seconds from the start until a step of the run is done; low and high None if not known."""

    step: int
    share: float
    seconds: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Projection:
    """What a run will take.

    Attributes:
        steps, done: of the run, and how many are behind it.
        measured: steps that were timed; measured_s: seconds of the clock that went by meanwhile,
            which are fewer than the steps' where only a part of each was run (`composed`).
        step_s: seconds of a step, the mean: a run takes its sum.
        fastest_s, slowest_s: means of some seconds each, the extremes.
        drift: what the records tell, wider where the minute was more uneven; None where they tell
            nothing.
        far: share of the minute while the CPUs lay far apart, where the drift is that of minutes
            like it; None where it is that of all.
        milestones: at shares of the steps that are left, the last one is the end.
        energy_j: of a step; None where no counter is there.
        disturbed: share of those seconds in which other work held the steps up.
        composed: what a step's time is reckoned from; None where whole steps were timed.
    """

    steps: int
    done: int
    measured: int
    measured_s: float
    step_s: float
    fastest_s: float
    slowest_s: float
    drift: Drift | None
    milestones: tuple[Milestone, ...]
    energy_j: float | None
    disturbed: float
    composed: str | None
    far: float | None = None

    @property
    def left(self) -> int:
        """Steps that are to be done."""
        return self.steps - self.done


@dataclass(frozen=True)
class Recorded:
    """What the records of the same machine tell of its drift.

    Attributes:
        by_session: moments, as the model would have seen them.
        starts: those whose minutes were like that of the record; None where all count, as they do
            where these tell nothing.
        far: share of that minute while the CPUs lay far apart; None with all minutes.
        alone: see `drift.learned`.
    """

    by_session: Mapping[str, Moments]
    starts: Starts | None = None
    far: float | None = None
    alone: Set[str] = frozenset()

    def drift(self, horizon_s: float) -> Drift | None:
        """Of a while of so many seconds."""
        return self._alike(horizon_s) or learned(self.by_session, horizon_s, None, self.alone)

    def tells(self, horizon_s: float) -> bool:
        """Whether the drift is that of minutes like the record's."""
        return self._alike(horizon_s) is not None

    def _alike(self, horizon_s: float) -> Drift | None:
        if self.starts is None:
            return None
        return learned(self.by_session, horizon_s, self.starts, self.alone)


def project(record: ProjectionRecord, recorded: Recorded) -> Projection:
    """The projection of a record whose worker is ok."""
    samples = record.worker.samples
    step_s = [s for sample in samples for s in sample.step_s]
    means = [statistics.fmean(sample.step_s) for sample in samples]
    mean, left = statistics.fmean(step_s), record.steps - record.done
    minute = [_moment(sample) for sample in samples]
    last = recorded.drift(left * mean)
    wall_s = math.fsum(sample.noise.wall_s or math.fsum(sample.step_s) for sample in samples)
    watts = _watts(samples, wall_s)
    steps = sorted({max(1, round(share * left)) for share in MILESTONES})
    return Projection(
        steps=record.steps,
        done=record.done,
        measured=len(step_s),
        measured_s=wall_s,
        step_s=mean,
        fastest_s=min(means),
        slowest_s=max(means),
        drift=None if last is None else last.after(minute),
        milestones=tuple(_milestone(record, many, mean, recorded, minute) for many in steps),
        energy_j=None if watts is None else watts * mean,
        disturbed=sum(sample.disturbed for sample in samples) / len(samples),
        composed=record.worker.composed,
        far=recorded.far if recorded.tells(left * mean) else None,
    )


def _watts(samples: Sequence[Sample], wall_s: float) -> float | None:
    """What the machine drew in these seconds; None where no counter is there."""
    joules = [sample.noise.energy_j for sample in samples]
    return None if None in joules else math.fsum(j or 0.0 for j in joules) / wall_s


def _moment(sample: Sample) -> float:
    """A step of it, as the records have it of a moment: the median of a few, spread over it."""
    every = max(1, len(sample.step_s) // STEPS_OF_A_MOMENT)
    return statistics.median(sample.step_s[::every])


def _milestone(
    record: ProjectionRecord,
    steps: int,
    mean_s: float,
    recorded: Recorded,
    minute: Sequence[float],
) -> Milestone:
    seconds = steps * mean_s
    drift = recorded.drift(seconds)
    low, high = (None, None) if drift is None else drift.after(minute).interval(LEVEL)
    return Milestone(
        step=record.done + steps,
        share=steps / (record.steps - record.done),
        seconds=seconds,
        low=None if low is None else seconds * low,
        high=None if high is None else seconds * high,
    )
