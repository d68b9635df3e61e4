"""The default experiment's step at many moments of a machine.

Each cell beside the default experiment leaves a moment: the median step of the reference's blocks
beside it. So every run of a sweep is a record of the machine's speed over its minutes.
"""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow
from cputrain.analysis.places import Place, Places, far
from cputrain.analysis.unchanged import runs_default
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
    """By session of the cells, how fast the machine was: each worker beside the default experiment.

    Of cells of all sorts: the default experiment's blocks tell its speed whatever takes turns with
    them.

    Args:
        cells: of one machine.
    """
    by_session: dict[str, list[tuple[float, float]]] = {}
    for worker in _beside_default(cells):
        if worker.pairs:
            moment = _started(worker), worker.reference_s
            by_session.setdefault(worker.session, []).append(moment)
    return {name: sorted(its) for name, its in sorted(by_session.items())}


@dataclass(frozen=True)
class PlacedMoment:
    """The default experiment's step beside a worker, and the share of its pairs far apart.

    Attributes:
        at_s, step_s: as `Moment` has them, over all of the worker's pairs.
        far: None where no pair tells.
    """

    at_s: float
    step_s: float
    far: float | None


def placed(cells: Sequence[CellRow], places: Places) -> dict[str, list[PlacedMoment]]:
    """Every moment of a machine's records, with where it was.

    Those of `moments`, and of the cells' earlier sessions too, where they ran beside the same.

    Args:
        cells: of one machine.
        places: where its CPUs were.
    """
    by_session: dict[str, list[PlacedMoment]] = {}
    for worker in _ever_beside_default(cells):
        if worker.pairs:
            at = [places.of(worker, pair) for pair in worker.pairs]
            moment = PlacedMoment(_started(worker), worker.reference_s, far(at))
            by_session.setdefault(worker.session, []).append(moment)
    ascending = {name: sorted(its, key=lambda each: each.at_s) for name, its in by_session.items()}
    return dict(sorted(ascending.items()))


def before(
    by_session: Mapping[str, Sequence[PlacedMoment]], end_s: float
) -> dict[str, list[PlacedMoment]]:
    """The moments that began before a time; sessions with none are left out.

    Args:
        end_s: seconds since 1970.
    """
    earlier = {name: [m for m in its if m.at_s < end_s] for name, its in by_session.items()}
    return {name: its for name, its in earlier.items() if its}


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


def _beside_default(cells: Sequence[CellRow], earlier: bool = False) -> list[WorkerRecord]:
    """Workers that had the default experiment of their engine beside them, each once.

    Args:
        cells: of one machine.
        earlier: of other sessions than the cells' own.
    """
    by_name = {cell.name: cell for cell, _ in cells}
    beside = []
    for cell, _ in cells:
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        if not cell.ok or base is None or not runs_default(base):
            continue
        if identical.engine(cell) == identical.engine(base):
            beside.append(cell)
    return identical.distinct(beside, earlier=earlier)


def _ever_beside_default(cells: Sequence[CellRow]) -> list[WorkerRecord]:
    """The same of all sessions, as far as what was beside them is what is today."""
    now, before = (_beside_default(cells, earlier) for earlier in (False, True))
    counts = {_counts(worker) for worker in now}
    return now + [worker for worker in before if _counts(worker) in counts]


def _counts(worker: WorkerRecord) -> tuple[int, int] | None:
    """What tells that the reference of an earlier version was the same."""
    its = worker.reference_counts
    return None if its is None else (its.n_params, its.flops_per_step)


def _started(worker: WorkerRecord) -> float:
    return datetime.datetime.fromisoformat(worker.started).timestamp()
