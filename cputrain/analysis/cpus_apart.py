"""Pairs of blocks by how far the CPUs lay apart: a hypervisor may move them within minutes.

Threads that train together hand their arrays from CPU to CPU, so a step takes longer while a
round trip between the CPUs does (`machine.round_trip`), and not every experiment by as much: an
effect is of where the CPUs were.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.record.sample import MOVED, Pair
from cputrain.record.worker import WorkerRecord

Cpus = tuple[int, ...]

FEWEST = 3
"""Pairs of a cell on either side, from which its effect on both is told."""


@dataclass(frozen=True)
class OnBothSides:
    """A cell with pairs on either side.

    Attributes:
        name: suite/cell.
        near, far: its time over its reference's, the median over the pairs while the CPUs were
            near, and while they were far.
    """

    name: str
    near: float
    far: float


@dataclass(frozen=True)
class Apart:
    """A machine whose CPUs were at two distances.

    Attributes:
        cpus: the two that it is told of.
        near_ns, far_ns: median round trip of either side; from_ns: the shortest of the far one.
        far_share: of the pairs, those while the CPUs were far apart.
        slower: by engine, the references' steps while they were far over those while they were
            near; of the same experiments, medians.
        cells: those with pairs on both sides, what differs most first.
    """

    cpus: Cpus
    near_ns: float
    far_ns: float
    from_ns: float
    far_share: float
    slower: dict[str, float]
    cells: tuple[OnBothSides, ...]

    def share(self, workers: Sequence[WorkerRecord]) -> float:
        """Of the workers' pairs, those while the CPUs were far; 0 where nothing is known."""
        known = [ns >= self.from_ns for worker in workers for ns, _ in _pairs(worker, self.cpus)]
        return sum(known) / len(known) if known else 0.0


def apart(cells: Sequence[CellRow]) -> Apart | None:
    """The two distances of a machine's CPUs; None where they were always as far apart, or unknown.

    They are of the two CPUs that most blocks have: those of other masks lie elsewhere.

    Args:
        cells: of one machine.
    """
    workers = identical.distinct(cell for cell, _ in cells if cell.ok)
    cpus = _usual_cpus(workers)
    known = sorted(ns for worker in workers for ns, _ in _pairs(worker, cpus))
    if not known or known[-1] <= MOVED * known[0]:
        return None
    gaps = [math.log(after / before) for before, after in itertools.pairwise(known)]
    place = 1 + max(range(len(gaps)), key=gaps.__getitem__)
    near, far = known[:place], known[place:]
    near_ns, far_ns = statistics.median(near), statistics.median(far)
    if far_ns <= MOVED * near_ns:
        return None
    both = _on_both_sides(cells, cpus, far[0])
    return Apart(
        cpus,
        near_ns,
        far_ns,
        far[0],
        len(far) / len(known),
        _slower(cells, cpus, far[0]),
        tuple(sorted(both, key=lambda cell: -abs(math.log(cell.far / cell.near)))),
    )


def _usual_cpus(workers: Sequence[WorkerRecord]) -> Cpus:
    noise = [pair.reference.noise for worker in workers for pair in worker.pairs]
    counts = Counter(tuple(its.round_trip_cpus) for its in noise if its.round_trips_ns)
    return counts.most_common(1)[0][0] if counts else ()


def _pairs(worker: WorkerRecord, cpus: Cpus) -> Iterator[tuple[float, Pair]]:
    """The pairs that count, each with the round trip between these CPUs meanwhile."""
    for pair in worker.pairs:
        both = worker.samples[pair.sample].noise, pair.reference.noise
        known = [
            ns for its in both if tuple(its.round_trip_cpus) == cpus for ns in its.round_trips_ns
        ]
        if known and not any(worker.disturbed_sides(pair)):
            yield statistics.median(known), pair


def _slower(cells: Sequence[CellRow], cpus: Cpus, from_ns: float) -> dict[str, float]:
    by_name = {cell.name: cell for cell, _ in cells}
    steps: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    seen = set()
    for cell, _ in cells:
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        if base is None or not base.workers:
            continue
        of = str(identical.engine(base)), base.workers[-1].identity
        for worker in cell.workers:
            ran = identical.what_ran(worker)
            if ran not in seen:
                seen.add(ran)
                for ns, pair in _pairs(worker, cpus):
                    steps.setdefault(of, ([], []))[ns >= from_ns].append(pair.reference.median_s)
    by_engine: dict[str, list[float]] = {}
    for (engine, _), (near, far) in steps.items():
        if min(len(near), len(far)) >= FEWEST:
            ratio = statistics.median(far) / statistics.median(near)
            by_engine.setdefault(engine, []).append(ratio)
    return {engine: statistics.median(ratios) for engine, ratios in sorted(by_engine.items())}


def _on_both_sides(cells: Sequence[CellRow], cpus: Cpus, from_ns: float) -> Iterator[OnBothSides]:
    for cell, _ in cells:
        if not cell.ok or cell.same_as or cell.is_baseline:
            continue
        logs: tuple[list[float], list[float]] = ([], [])
        for worker in cell.workers:
            for ns, pair in _pairs(worker, cpus):
                logs[ns >= from_ns].append(worker.log_ratio(pair))
        if min(map(len, logs)) >= FEWEST:
            near, far = (math.exp(statistics.median(side)) for side in logs)
            yield OnBothSides(cell.name, near, far)
