"""What shows that the numbers of a machine may be believed: checks, training, A/A, drift."""

from __future__ import annotations

import datetime
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.analysis.unchanged import Setting, settings
from cputrain.record.worker import WorkerRecord


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


def drift(cells: Sequence[CellRow]) -> list[tuple[float, float]]:
    """How fast the machine was through the newest session: the default experiment over and over.

    Returns:
        Minutes since its first worker, and seconds of a step of the reference beside a worker,
        the median over its pairs. Of cells beside the default experiment.
    """
    workers = identical.distinct(
        setting.cell for setting in settings(cells) if _is_of_default(setting)
    )
    if not workers:
        return []
    newest = max(worker.session for worker in workers)
    timed = [worker for worker in workers if worker.session == newest and worker.pairs]
    moments = [datetime.datetime.fromisoformat(worker.started) for worker in timed]
    points = [
        ((moment - min(moments)).total_seconds() / 60, _reference_s(worker))
        for moment, worker in zip(moments, timed, strict=True)
    ]
    return sorted(points)


def _is_of_default(setting: Setting) -> bool:
    same_engine = identical.engine(setting.cell) == identical.engine(setting.base)
    return setting.is_of_default and same_engine


def _reference_s(worker: WorkerRecord) -> float:
    return statistics.median(pair.reference.median_s for pair in worker.pairs)


def spread(points: Sequence[tuple[float, float]]) -> float | None:
    """The slowest over the fastest of a drift's seconds, less 1; None below two points."""
    times = [seconds for _, seconds in points]
    return max(times) / min(times) - 1 if len(times) > 1 and min(times) > 0 else None


def symmetric(ratios: Sequence[float]) -> float:
    """The largest of some ratios and their inverses: the end of an axis with 1 in its middle."""
    return math.exp(max((abs(math.log(ratio)) for ratio in ratios), default=0.0))
