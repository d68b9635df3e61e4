"""What shows that the numbers of a machine may be believed: checks, training, A/A, drift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis import identical, moments
from cputrain.analysis.ends import CellRow


@dataclass(frozen=True)
class Verified:
    """Counts over all workers that gave a number.

    Attributes:
        workers: that gave one, each counted once.
        checks, checks_ok: settings that were read back in them, and those as they were asked.
        tensors, tensors_moved: of weights, and those that training changed.
        steps: timed.
        pairs, dropped: of blocks; those during which others had the CPUs do not count.
    """

    workers: int
    checks: int
    checks_ok: int
    tensors: int
    tensors_moved: int
    steps: int
    pairs: int
    dropped: int


def verified(cells: Sequence[CellRow]) -> Verified:
    """What was verified of a machine's cells."""
    workers = identical.distinct(cell for cell, _ in cells if cell.ok)
    trained = [worker.trained for worker in workers if worker.trained is not None]
    checks = [check for worker in workers for check in worker.in_force or ()]
    pairs = [worker.disturbed_sides(pair) for worker in workers for pair in worker.pairs]
    pairs += [pair.disturbed_sides for worker in workers for pair in worker.spoilt_pairs]
    return Verified(
        workers=len(workers),
        checks=len(checks),
        checks_ok=sum(check.ok for check in checks),
        tensors=sum(gates.parameters for gates in trained),
        tensors_moved=sum(gates.parameters_moved for gates in trained),
        steps=sum(len(worker.step_s) for worker in workers),
        pairs=len(pairs),
        dropped=sum(any(sides) for sides in pairs),
    )


def identical_ratios(cells: Sequence[CellRow]) -> dict[str, list[float]]:
    """By engine, what each A/A pass differed by: time over its reference's, which ran the same."""
    by_engine: dict[str, list[float]] = {}
    same = [cell for cell, _ in cells if cell.ok and identical.is_identical(cell)]
    for worker in identical.distinct(same):
        if (ratio := worker.paired_ratio) is not None:
            name = str(worker.experiment["runtime"]["engine"])
            by_engine.setdefault(name, []).append(ratio)
    return by_engine


def newest_drift(cells: Sequence[CellRow]) -> list[tuple[float, float]]:
    """How fast the machine was through the newest session: minutes since its start, step seconds.

    See `analysis.moments`.
    """
    by_session = moments.moments(cells)
    if not by_session:
        return []
    points = max(by_session.values(), key=lambda points: points[-1])
    return [((at - points[0][0]) / 60, step_s) for at, step_s in points]


def spread(points: Sequence[tuple[float, float]]) -> float | None:
    """The slowest over the fastest of a drift's seconds, less 1; None below two points."""
    times = [seconds for _, seconds in points]
    return max(times) / min(times) - 1 if len(times) > 1 and min(times) > 0 else None


def symmetric(ratios: Sequence[float]) -> float:
    """The largest of some ratios and their inverses: the end of an axis with 1 in its middle."""
    return math.exp(max((abs(math.log(ratio)) for ratio in ratios), default=0.0))
