"""A cell's step time at its machine's usual speed: its paired effect times its reference's usual.

A cell and its reference have the same drift in them: what is left of it is how well the reference's
usual step time is known. That is its mean over all moments of the run, of logarithms.
"""

from __future__ import annotations

import datetime
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from scipy import special

from cputrain.analysis import identical
from cputrain.analysis.ends import CellRow, interval
from cputrain.analysis.machines.wander import Wander, learned
from cputrain.analysis.paired.effect import LEVEL
from cputrain.experiment import Experiment
from cputrain.record.worker import WorkerRecord
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

SURE = float(special.ndtri(0.5 + LEVEL / 2))
"""Standard deviations that half of an effect's interval has, about."""
FEWEST_INDEPENDENT = 2.0
"""Independent moments from which a reference's own tell how it drifts."""
LEAST_S = 900.0
"""Seconds of sessions from which they do. In fewer, minutes that hang together look as if they did
not: asking for more that are independent would keep just those (docs/machines.md has how many
intervals held)."""


@dataclass(frozen=True)
class Reference:
    """An experiment that cells of a machine were measured beside.

    Attributes:
        log_s: mean logarithm of its step time.
        variance: of that; None where nothing tells it.
        degrees: of freedom of `variance`.
        wander: that it comes from: its own, or of another reference where its own moments are few.
        independent: how many moments of its own tell it; 1 where they are few.
    """

    log_s: float
    variance: float | None
    degrees: float
    wander: Wander | None
    independent: float = 1.0


@dataclass(frozen=True)
class Usual:
    """A cell at its machine's usual speed.

    Attributes:
        log_s: logarithm of its step time.
        variance: of that, but for its reference's; None where its effect has no interval.
        reference: name of that in `References`.
    """

    log_s: float
    variance: float | None
    reference: str


@dataclass(frozen=True)
class References:
    """What the cells of one machine were measured beside.

    Attributes:
        by_name: each one.
        of_cell: the name of each cell's, by the cell's; of those that have pairs.
        wander: of the one with most moments; None where all have few.
    """

    by_name: Mapping[str, Reference]
    of_cell: Mapping[str, str]
    wander: Wander | None

    @property
    def at_any_speed(self) -> Reference:
        """Of a cell without a pair, which ran at any speed of the one that drifts as `wander`."""
        its = self.wander
        return Reference(
            0.0, None if its is None else its.log_sd**2, 1.0 if its is None else its.degrees, its
        )

    def usual(self, cell: CellResult, row: Row) -> Usual | None:
        """A cell with a number, at the usual speed; None where it has no pair that counts."""
        name = self.of_cell.get(cell.name)
        effect, (low, high) = row["effect"], interval(row)
        if name is None or not isinstance(effect, float) or effect <= 0:
            return None
        log_s, variance = math.log(effect) + self.by_name[name].log_s, None
        if isinstance(low, float) and isinstance(high, float) and 0 < low <= high:
            variance = (math.log(high / low) / 2 / SURE) ** 2
        return Usual(log_s, variance, name)


def references(cells: Sequence[CellRow]) -> References:
    """The references of one machine's cells."""
    by_cell = {cell.name: cell for cell, _ in cells}
    workers: dict[str, list[CellResult]] = {}
    engines: dict[str, str | None] = {}
    of_cell: dict[str, str] = {}
    for cell, _ in cells:
        if not (cell.ok and any(worker.pairs for worker in cell.workers)):
            continue
        base = by_cell.get(f"{cell.suite}/{cell.key.baseline}")
        reference = cell if cell.key.baseline is None or identical.is_identical(cell) else base
        name = (
            identity(reference.workers[-1])
            if reference and reference.workers
            else f"of {cell.suite}"
        )
        if identical.is_beside_other_release(cell, base):  # of one experiment, not one reference
            name += f" beside {identical.engine(cell)}"
        of_cell[cell.name] = name
        workers.setdefault(name, []).append(cell)
        engines[name] = identical.engine(reference or cell)
    moments = {name: _moments(identical.distinct(its)) for name, its in workers.items()}
    wanders = {name: learned(points) for name, points in moments.items()}
    telling = [name for name in wanders if _tells(wanders[name])]
    telling.sort(key=lambda name: -sum(map(len, moments[name].values())))
    by_name = {}
    for name, points in moments.items():
        alike = [other for other in telling if engines[other] == engines[name]]
        beside = wanders[next(iter([*alike, *telling]), name)]
        by_name[name] = _reference(points, wanders[name], beside)
    return References(by_name, of_cell, wanders[telling[0]] if telling else None)


def identity(worker: WorkerRecord) -> str:
    """Of a worker's experiment, by its fields: what a record says of itself is not asked."""
    return Experiment.from_json(msgspec.to_builtins(worker.experiment)).identity


def _tells(wander: Wander | None) -> bool:
    if wander is None or wander.recorded_s < LEAST_S:
        return False
    return wander.independent >= FEWEST_INDEPENDENT


def _reference(
    by_session: Mapping[str, Sequence[tuple[float, float]]],
    own: Wander | None,
    beside: Wander | None,
) -> Reference:
    """One reference; with few moments it may have been at any speed of the one `beside`."""
    logs = [math.log(s) for points in by_session.values() for _, s in points]
    mean = statistics.fmean(logs)
    if own is not None and _tells(own):
        return Reference(mean, own.mean_variance, own.degrees, own, own.independent)
    if beside is None or not _tells(beside):
        return Reference(mean, None, 1.0, None)
    return Reference(mean, beside.log_sd**2, beside.degrees, beside)


def _moments(workers: Sequence[WorkerRecord]) -> dict[str, list[tuple[float, float]]]:
    by_session: dict[str, list[tuple[float, float]]] = {}
    for worker in workers:
        if worker.pairs:
            at = datetime.datetime.fromisoformat(worker.started).timestamp()
            step_s = statistics.median(pair.reference.median_s for pair in worker.pairs)
            by_session.setdefault(worker.session, []).append((at, step_s))
    return by_session
