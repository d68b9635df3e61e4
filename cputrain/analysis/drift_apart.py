"""The drift that a model sees whose minute was taken near, or far apart.

A hypervisor moves CPUs (`analysis.places`), for minutes at times, and the default experiment, whose
steps the records have, slows down by as much as its threads wait for one another: a large model
hardly does. So the records' moments are taken as the model would have seen them, and its drift is
learned from minutes that were like its own.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from cputrain.analysis.drift import FEWEST, MINUTE_S, Moments, Starts
from cputrain.analysis.moments import PlacedMoment
from cputrain.analysis.places import Places, far
from cputrain.analysis.projection import Recorded
from cputrain.record.worker import WorkerRecord

ALIKE = 1 / 3
"""Two minutes are alike whose shares of far moments differ by no more."""


@dataclass(frozen=True)
class Slowdown:
    """How many times as long steps take while the CPUs lie far apart.

    Attributes:
        model: of the model whose drift is asked for; usual: of the default experiment.
    """

    model: float = 1.0
    usual: float = 1.0

    def at(self, far: float) -> float:
        """What a moment of the default experiment is multiplied by, for the model.

        Args:
            far: share of the moment.
        """
        return (1 + far * (self.model - 1)) / (1 + far * (self.usual - 1))


def recorded(
    by_session: Mapping[str, Sequence[PlacedMoment]],
    far: float | None,
    slowdown: Slowdown,
    alone: Set[str] = frozenset(),
) -> Recorded:
    """What the records tell of the drift that a model sees.

    Args:
        by_session: `analysis.moments.placed` of the machine.
        far: `share` of the model's minute; None where that is not known.
        slowdown: of the model.
        alone: see `drift.learned`.
    """
    starts = _alike(by_session, far)
    moments = as_model(by_session, slowdown)
    return Recorded(moments, starts, None if starts is None else far, alone)


def as_model(
    by_session: Mapping[str, Sequence[PlacedMoment]], slowdown: Slowdown
) -> dict[str, Moments]:
    """The moments as the model would have seen them, but for a factor that all have."""
    return {
        name: [(each.at_s, each.step_s * slowdown.at(each.far or 0.0)) for each in moments]
        for name, moments in by_session.items()
    }


def _alike(by_session: Mapping[str, Sequence[PlacedMoment]], far: float | None) -> Starts | None:
    """When minutes end that were far apart for about such a share.

    Args:
        far: share of the minute in question; None where that is not known.

    Returns:
        None where too few are known to be, or all are: then all count.
    """
    if far is None:
        return None
    every = sum(len(moments) for moments in by_session.values())
    ends = {
        (name, at)
        for name, moments in by_session.items()
        for at, share in _shares(moments)
        if abs(share - far) <= ALIKE
    }
    return ends if FEWEST <= len(ends) < every else None


def _shares(moments: Sequence[PlacedMoment]) -> Iterator[tuple[float, float]]:
    """Moments, and the share of the minute that ends with each, as far as it is known."""
    minute: deque[PlacedMoment] = deque()
    for moment in moments:
        minute.append(moment)
        while minute[0].at_s <= moment.at_s - MINUTE_S:
            minute.popleft()
        known = [each.far for each in minute if each.far is not None]
        if known:
            yield moment.at_s, statistics.fmean(known)


def share(worker: WorkerRecord, places: Places) -> float | None:
    """Of a worker's samples that tell where the CPUs were, those far apart, of those within which
    they were moved half; None where none does.

    Args:
        places: of the machine.
    """
    return far([places.of_blocks([sample.noise]) for sample in worker.samples])
