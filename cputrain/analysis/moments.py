"""The default experiment's step at many moments of a machine.

Each cell beside the default experiment leaves a moment: the median step of the reference's blocks
beside it. So every run of a sweep is a record of the machine's speed over its minutes.
"""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.analysis.places import Place, Places
from cputrain.analysis.unchanged import Setting, settings
from cputrain.record.worker import WorkerRecord


@dataclass(frozen=True)
class Moment:
    """The default experiment's step beside a worker.

    Attributes:
        at_s: when that began, seconds since 1970.
        step_s: the median over its pairs there.
        place: where the CPUs were; None where that is not known.
    """

    at_s: float
    step_s: float
    place: Place | None


def moments(cells: Sequence[CellRow]) -> dict[str, list[tuple[float, float]]]:
    """By session, how fast the machine was: cells beside the default experiment, each worker once.

    Args:
        cells: of one machine.
    """
    by_session: dict[str, list[tuple[float, float]]] = {}
    for worker in _beside_default(cells):
        if worker.pairs:
            point = _started(worker), _reference_s(worker)
            by_session.setdefault(worker.session, []).append(point)
    return {session: sorted(points) for session, points in sorted(by_session.items())}


def at_places(cells: Sequence[CellRow], places: Places) -> list[Moment]:
    """The same moments, one for each place at which a worker's pairs were taken, by time.

    Args:
        cells: of one machine.
        places: where its CPUs were.
    """
    made = []
    for worker in _beside_default(cells):
        steps: dict[Place | None, list[float]] = {}
        for pair in worker.pairs:
            steps.setdefault(places.of(worker, pair), []).append(pair.reference.median_s)
        made += [Moment(_started(worker), statistics.median(its), at) for at, its in steps.items()]
    return sorted(made, key=lambda moment: moment.at_s)


def _beside_default(cells: Sequence[CellRow]) -> list[WorkerRecord]:
    return identical.distinct(
        setting.cell for setting in settings(cells) if _is_of_default(setting)
    )


def _started(worker: WorkerRecord) -> float:
    return datetime.datetime.fromisoformat(worker.started).timestamp()


def _is_of_default(setting: Setting) -> bool:
    same_engine = identical.engine(setting.cell) == identical.engine(setting.base)
    return setting.is_of_default and same_engine


def _reference_s(worker: WorkerRecord) -> float:
    return statistics.median(pair.reference.median_s for pair in worker.pairs)
