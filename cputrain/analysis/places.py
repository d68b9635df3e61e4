"""Where the CPUs of a machine lay while a pair of blocks was taken.

A hypervisor moves them within seconds: to one core, to cores that share a cache, to cores that do
not (`machine.one_core`, `machine.round_trip`). Threads that train together take longer then, and
not every experiment by as much: an effect is of where the CPUs were. So all cells of a machine are
judged by their pairs at one place, where most of them can be. A long block may hold several places
(`noise.LONG_S`): such pairs are as if taken at a place of their own. The rule never sees the time
of a block's steps.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from cputrain.record.noise import MOVED, SHARED, Noise, hold_several_places
from cputrain.record.sample import Pair
from cputrain.record.worker import WorkerRecord

Place = Literal["near", "far", "one core", "moved"]
Cpus = tuple[int, ...]

FEWEST_PAIRS = 2
"""At the usual place, from which on a cell is judged by them alone."""
WORDS: dict[Place, str] = {
    "near": "near each other",
    "far": "far apart",
    "one core": "one core",
    "moved": "moved within its blocks",
}
"""What is said of the CPUs at each place."""
FAR: dict[Place, float] = {"near": 0.0, "one core": 0.0, "far": 1.0, "moved": 0.5}
"""Share of the time that they were far apart."""


@dataclass(frozen=True)
class Places:
    """Where two CPUs of a machine were.

    Attributes:
        cpus: the two that it is told of, those that most blocks have; those of other masks lie
            elsewhere.
        from_ns: the shortest round trip of those that are far; infinite where none is.
        pairs: how many that count were taken at each place.
        trip_ns: the median round trip at each; where they were moved, none.
        usual: where most experiments have `FEWEST_PAIRS`; None where nothing is known. Not where
            most pairs are: later passes have more of them, of a few cells, and would move it.
    """

    cpus: Cpus = ()
    from_ns: float = math.inf
    pairs: Mapping[Place, int] = field(default_factory=dict)
    trip_ns: Mapping[Place, float] = field(default_factory=dict)
    usual: Place | None = None

    @property
    def far(self) -> float:
        """Share of the pairs that were far apart, of moved ones half."""
        return sum(self.share(place) * share for place, share in FAR.items())

    def share(self, place: Place) -> float:
        """Of the pairs, those at this place."""
        return self.pairs.get(place, 0) / sum(self.pairs.values()) if self.pairs else 0.0

    def of(self, worker: WorkerRecord, pair: Pair) -> Place | None:
        """Where a pair was taken; None where that is not known of these CPUs."""
        return self.of_blocks((worker.samples[pair.sample].noise, pair.reference.noise))

    def of_blocks(self, blocks: Iterable[Noise]) -> Place | None:
        """Where most of these blocks were taken; None where none of them tells."""
        readings = seen(blocks, self.cpus)
        return None if readings is None else self.at(readings)

    def told(self, worker: WorkerRecord) -> Iterator[tuple[Pair, Place]]:
        """The worker's pairs that count, where it is known where they were taken."""
        for pair, readings in _told(worker, self.cpus):
            yield pair, self.at(readings)

    def counts(self, workers: Iterable[WorkerRecord]) -> dict[Place, int]:
        """Of the workers' pairs that count, how many were taken where."""
        return dict(Counter(place for worker in workers for _, place in self.told(worker)))

    def at(self, readings: Seen) -> Place:
        """Where a pair with these readings was taken."""
        if readings.is_moved:
            return "moved"
        if readings.on_one_core:
            return "one core"
        return "far" if readings.trip_ns >= self.from_ns else "near"


@dataclass(frozen=True)
class Seen:
    """The readings of a pair: a round trip, whether both CPUs were one core, and whether one was
    moved within a long block, so that the two others are of one moment only."""

    trip_ns: float
    on_one_core: bool
    is_moved: bool = False


def learn(workers: Iterable[WorkerRecord]) -> Places:
    """The places of a machine's CPUs, by the pairs that count.

    Args:
        workers: of one machine, each that ran once.
    """
    workers = list(workers)
    cpus = _usual_cpus(workers)
    told = [(worker.identity, its) for worker in workers for _, its in _told(worker, cpus)]
    known = of_pairs([its for _, its in told], cpus)
    each = Counter((known.at(its), identity) for identity, its in told)
    judged = Counter(place for (place, _), pairs in each.items() if pairs >= FEWEST_PAIRS)
    return replace(known, usual=_most(judged) or known.usual)


def of_pairs(pairs: Sequence[Seen], cpus: Cpus = ()) -> Places:
    """The places of pairs; the usual one is where most of them are.

    Args:
        pairs: that count.
        cpus: of which they tell.
    """
    apart = [its.trip_ns for its in pairs if not (its.on_one_core or its.is_moved)]
    known = Places(cpus, _from_ns(sorted(apart)))
    counts = dict(Counter(map(known.at, pairs)))
    trips: dict[Place, list[float]] = {}
    for its in pairs:
        if not its.is_moved:
            trips.setdefault(known.at(its), []).append(its.trip_ns)
    medians = {place: statistics.median(each) for place, each in trips.items()}
    return Places(cpus, known.from_ns, counts, medians, _most(counts))


def _most(counts: Mapping[Place, int]) -> Place | None:
    return max(counts.items(), key=lambda its: its[1])[0] if counts else None


def _from_ns(trips_ns: Sequence[float]) -> float:
    """Where the far ones begin, of rising round trips; infinite where all are about as long.

    The cut is where the squares between the two sides' logarithms are largest (Otsu 1979, "A
    threshold selection method from gray-level histograms", IEEE Trans. Syst. Man Cybern. 9), which
    a single long one among many does not draw to itself, as the widest gap would be.
    """
    logs = [math.log(ns) for ns in trips_ns]
    best, place, below, total = 0.0, 0, 0.0, math.fsum(logs)
    for count in range(1, len(logs)):
        below += logs[count - 1]
        differ = below / count - (total - below) / (len(logs) - count)
        between = count * (len(logs) - count) * differ**2
        if between > best and logs[count - 1] < logs[count]:
            best, place = between, count
    near, far = trips_ns[:place], trips_ns[place:]
    if not near or statistics.median(far) <= MOVED * statistics.median(near):
        return math.inf
    return far[0]


def _usual_cpus(workers: Sequence[WorkerRecord]) -> Cpus:
    noise = [pair.reference.noise for worker in workers for pair in worker.pairs]
    counts = Counter(tuple(its.round_trip_cpus) for its in noise if its.round_trips_ns)
    return counts.most_common(1)[0][0] if counts else ()


def _told(worker: WorkerRecord, cpus: Cpus) -> Iterator[tuple[Pair, Seen]]:
    """The pairs that count and tell where these CPUs were."""
    for pair in worker.pairs:
        readings = seen((worker.samples[pair.sample].noise, pair.reference.noise), cpus)
        if readings is not None and not any(worker.disturbed_sides(pair)):
            yield pair, readings


def seen(blocks: Iterable[Noise], cpus: Cpus) -> Seen | None:
    """What blocks tell of these two CPUs: medians; None where they tell nothing."""
    of_these = [its for its in blocks if tuple(its.round_trip_cpus) == cpus]
    trips = [ns for its in of_these for ns in its.round_trips_ns if ns > 0]
    ratios = [ratio for its in of_these for ratio in its.at_once_ratios]
    if not trips:
        return None
    on_one_core = bool(ratios) and statistics.median(ratios) > SHARED
    return Seen(statistics.median(trips), on_one_core, hold_several_places(*of_these))


def far(known: Sequence[Place | None]) -> float | None:
    """Share of these that were far apart, of those that are known; None where none is.

    Those that were moved within their blocks count as half.
    """
    shares = [FAR[place] for place in known if place is not None]
    return statistics.fmean(shares) if shares else None
