"""Pairs of blocks by how far the CPUs lay apart: a hypervisor may move them within minutes.

Threads that train together hand their arrays from CPU to CPU, so a step takes longer while a
round trip between the CPUs does (`machine.round_trip`), and not every experiment by as much: an
effect is of where the CPUs were.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.record.sample import MOVED, Pair
from cputrain.record.worker import WorkerRecord

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
        near_ns, far_ns: median round trip of either side; from_ns: the shortest of the far one.
        far_share: of the pairs, those while the CPUs were far apart.
        slower: by engine, the references' steps while they were far over those while they were
            near; of the same experiments, medians.
        cells: those with pairs on both sides, what differs most first.
    """

    near_ns: float
    far_ns: float
    from_ns: float
    far_share: float
    slower: dict[str, float]
    cells: tuple[OnBothSides, ...]

    def share(self, workers: Sequence[WorkerRecord]) -> float:
        """Of the workers' pairs, those while the CPUs were far; 0 where nothing is known."""
        known = [ns >= self.from_ns for worker in workers for ns, _ in _pairs(worker)]
        return sum(known) / len(known) if known else 0.0


def round_trip_ns(worker: WorkerRecord, pair: Pair) -> float | None:
    """Between the CPUs during a pair that counts; None where that is not known."""
    if any(worker.disturbed_sides(pair)):
        return None
    both = worker.samples[pair.sample].noise, pair.reference.noise
    ends = [ns for n in both for ns in (n.round_trip_before_ns, n.round_trip_after_ns)]
    known = [ns for ns in ends if ns is not None]
    return statistics.median(known) if known else None


def apart(cells: Sequence[CellRow]) -> Apart | None:
    """The two distances of a machine's CPUs; None where they were always as far apart, or unknown.

    Args:
        cells: of one machine.
    """
    workers = identical.distinct(cell for cell, _ in cells if cell.ok)
    known = sorted(ns for worker in workers for ns, *_ in _pairs(worker))
    if not known or known[-1] <= MOVED * known[0]:
        return None
    gaps = [math.log(after / before) for before, after in itertools.pairwise(known)]
    place = 1 + max(range(len(gaps)), key=gaps.__getitem__)
    near, far = known[:place], known[place:]
    near_ns, far_ns = statistics.median(near), statistics.median(far)
    if far_ns <= MOVED * near_ns:
        return None
    return Apart(
        near_ns,
        far_ns,
        far[0],
        len(far) / len(known),
        _slower(cells, far[0]),
        tuple(sorted(_on_both_sides(cells, far[0]), key=lambda c: -abs(math.log(c.far / c.near)))),
    )


def _pairs(worker: WorkerRecord) -> Iterator[tuple[float, Pair]]:
    for pair in worker.pairs:
        ns = round_trip_ns(worker, pair)
        if ns is not None:
            yield ns, pair


def _slower(cells: Sequence[CellRow], from_ns: float) -> dict[str, float]:
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
                for ns, pair in _pairs(worker):
                    steps.setdefault(of, ([], []))[ns >= from_ns].append(pair.reference.median_s)
    by_engine: dict[str, list[float]] = {}
    for (engine, _), (near, far) in steps.items():
        if min(len(near), len(far)) >= FEWEST:
            ratio = statistics.median(far) / statistics.median(near)
            by_engine.setdefault(engine, []).append(ratio)
    return {engine: statistics.median(ratios) for engine, ratios in sorted(by_engine.items())}


def _on_both_sides(cells: Sequence[CellRow], from_ns: float) -> Iterator[OnBothSides]:
    for cell, _ in cells:
        if not cell.ok or cell.same_as or cell.is_baseline:
            continue
        logs: tuple[list[float], list[float]] = ([], [])
        for worker in cell.workers:
            for ns, pair in _pairs(worker):
                logs[ns >= from_ns].append(worker.log_ratio(pair))
        if min(map(len, logs)) >= FEWEST:
            near, far = (math.exp(statistics.median(side)) for side in logs)
            yield OnBothSides(cell.name, near, far)
