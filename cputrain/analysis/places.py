"""Where the CPUs of a machine lay while a pair of blocks was taken.

A hypervisor moves them within seconds: to one core, to cores that share a cache, to cores that do
not (`machine.one_core`, `machine.round_trip`). Threads that train together take longer then, and
not every experiment by as much: an effect is of where the CPUs were. So a cell is judged by its
pairs at the place where most of the machine's pairs were taken. The rule never sees a step's time.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cputrain.record.sample import MOVED, SHARED, Noise, Pair
from cputrain.record.worker import WorkerRecord

Place = Literal["near", "far", "one core"]
Cpus = tuple[int, ...]

WORDS: dict[Place, str] = {
    "near": "near each other",
    "far": "far apart",
    "one core": "one core",
}
"""What is said of the CPUs at each place."""


@dataclass(frozen=True)
class Places:
    """Where two CPUs of a machine were.

    Attributes:
        cpus: the two that it is told of, those that most blocks have; those of other masks lie
            elsewhere.
        from_ns: the shortest round trip of those that are far; infinite where none is.
        pairs: how many that count were taken at each place.
        trip_ns: the median round trip at each.
    """

    cpus: Cpus = ()
    from_ns: float = math.inf
    pairs: Mapping[Place, int] = field(default_factory=dict)
    trip_ns: Mapping[Place, float] = field(default_factory=dict)

    @property
    def usual(self) -> Place | None:
        """Where most pairs were taken; None where nothing is known."""
        most = max(self.pairs.items(), key=lambda its: its[1], default=None)
        return None if most is None else most[0]

    def share(self, place: Place) -> float:
        """Of the pairs, those at this place."""
        return self.pairs.get(place, 0) / sum(self.pairs.values()) if self.pairs else 0.0

    def of(self, worker: WorkerRecord, pair: Pair) -> Place | None:
        """Where a pair was taken; None where that is not known of these CPUs."""
        return self.of_blocks((worker.samples[pair.sample].noise, pair.reference.noise))

    def of_blocks(self, blocks: Iterable[Noise]) -> Place | None:
        """Where most of these blocks were taken; None where none of them tells."""
        seen = _seen(blocks, self.cpus)
        return None if seen is None else self._at(seen)

    def told(self, worker: WorkerRecord) -> Iterator[tuple[Pair, Place]]:
        """The worker's pairs that count, where it is known where they were taken."""
        for pair, seen in _told(worker, self.cpus):
            yield pair, self._at(seen)

    def counts(self, workers: Iterable[WorkerRecord]) -> dict[Place, int]:
        """Of the workers' pairs that count, how many were taken where."""
        return dict(Counter(place for worker in workers for _, place in self.told(worker)))

    def _at(self, seen: _Seen) -> Place:
        if seen.on_one_core:
            return "one core"
        return "far" if seen.trip_ns >= self.from_ns else "near"


@dataclass(frozen=True)
class _Seen:
    """The readings of a pair: round trip in nanoseconds, and whether both were one core."""

    trip_ns: float
    on_one_core: bool


def learn(workers: Iterable[WorkerRecord]) -> Places:
    """The places of a machine's CPUs, by the pairs that count.

    Args:
        workers: of one machine, each that ran once.
    """
    workers = list(workers)
    cpus = _usual_cpus(workers)
    seen = [its for worker in workers for _, its in _told(worker, cpus)]
    apart = sorted(its.trip_ns for its in seen if not its.on_one_core)
    known = Places(cpus, _from_ns(apart))
    trips: dict[Place, list[float]] = {}
    for its in seen:
        trips.setdefault(known._at(its), []).append(its.trip_ns)
    return Places(
        cpus,
        known.from_ns,
        {place: len(each) for place, each in trips.items()},
        {place: statistics.median(each) for place, each in trips.items()},
    )


def _from_ns(trips_ns: Sequence[float]) -> float:
    """Where the far ones begin, of rising round trips: at the widest gap, if there are any."""
    if not trips_ns or trips_ns[-1] <= MOVED * trips_ns[0]:
        return math.inf
    gaps = [math.log(after / before) for before, after in itertools.pairwise(trips_ns)]
    place = 1 + max(range(len(gaps)), key=gaps.__getitem__)
    near, far = trips_ns[:place], trips_ns[place:]
    return far[0] if statistics.median(far) > MOVED * statistics.median(near) else math.inf


def _usual_cpus(workers: Sequence[WorkerRecord]) -> Cpus:
    noise = [pair.reference.noise for worker in workers for pair in worker.pairs]
    counts = Counter(tuple(its.round_trip_cpus) for its in noise if its.round_trips_ns)
    return counts.most_common(1)[0][0] if counts else ()


def _told(worker: WorkerRecord, cpus: Cpus) -> Iterator[tuple[Pair, _Seen]]:
    """The pairs that count and tell where these CPUs were."""
    for pair in worker.pairs:
        seen = _seen((worker.samples[pair.sample].noise, pair.reference.noise), cpus)
        if seen is not None and not any(worker.disturbed_sides(pair)):
            yield pair, seen


def _seen(blocks: Iterable[Noise], cpus: Cpus) -> _Seen | None:
    of_these = [its for its in blocks if tuple(its.round_trip_cpus) == cpus]
    trips = [ns for its in of_these for ns in its.round_trips_ns]
    ratios = [ratio for its in of_these for ratio in its.at_once_ratios]
    if not trips:
        return None
    return _Seen(statistics.median(trips), bool(ratios) and statistics.median(ratios) > SHARED)
