"""What was measured of whole steps: ratios to the reference beside them, and memory."""

from __future__ import annotations

import datetime
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.cost import scope
from cputrain.analysis.ends import CellRow, log_sd
from cputrain.analysis.moments import Moment
from cputrain.analysis.places import FAR, Places
from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError
from cputrain.model.flops import flops_per_step
from cputrain.record.sample import Sample
from cputrain.record.worker import WorkerRecord
from cputrain.results.rows import CellResult

UNTOLD_SD = 0.1
"""Of a logarithm whose interval is not known."""
NEAR_S = 900.0
"""A cell that ran alone is compared with the reference's moments so near to it, three at most."""


@dataclass(frozen=True)
class Observation:
    """A cell's time over its reference's.

    Attributes:
        name: suite/cell.
        experiment, reference: settled.
        log_ratio: natural logarithm; sd: its standard deviation.
        pages, reference_pages: that faulted in a step of either, as the kernel counted them in
            the blocks that were paired; None where it did not.
        fits: whether coefficients may be learned from it; a published run never is.
        far: share of its pairs that count while the CPUs lay far apart.
        update_share: what the update took of the cell's step; None where it was not timed.
    """

    name: str
    experiment: Experiment
    reference: Experiment
    log_ratio: float
    sd: float
    pages: float | None = None
    reference_pages: float | None = None
    fits: bool = True
    far: float = 0.0
    update_share: float | None = None


@dataclass(frozen=True)
class HeldBytes:
    """Bytes that a cell's worker held at its peak."""

    name: str
    experiment: Experiment
    peak_bytes: int


def ratios(
    cells: Sequence[CellRow], moments: Sequence[Moment] = (), places: Places | None = None
) -> list[Observation]:
    """Of cells whose cost there are formulas for, each worker once.

    A cell that repeats its reference's work, or only reads other data, tells no cost and is left
    out; so does one beside another engine, whose coefficients are others. A cell without a
    reference is set against the default experiment's moments around it, at the same place.

    Args:
        cells: of one machine.
        moments: of them, `analysis.moments.at_places`.
        places: where their CPUs were.
    """
    by_name = {cell.name: cell for cell, _ in cells}
    observations = []
    for cell, row in cells:
        experiment = _usable(cell)
        if experiment is None:
            continue
        if cell.key.baseline is None:
            alone = _beside_moments(cell, experiment, moments, places or Places())
            if alone is not None:
                observations.append(alone)
            continue
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        reference = None if base is None else _usable(base, same_as=True)
        effect = row["effect"]
        if reference is None or not effect or not _differ(experiment, reference):
            continue
        ends = row["effect_low"], row["effect_high"]
        sd = log_sd(*ends, row["passes"]) if all(ends) else UNTOLD_SD
        own, beside = _pages(cell.workers)
        far = FAR.get(row["place"], 0.0)
        log, update = math.log(effect), _update_share(cell.workers)
        observations.append(
            Observation(cell.name, experiment, reference, log, sd, own, beside, True, far, update)
        )
    return observations


def _pages(workers: Sequence[WorkerRecord]) -> tuple[float | None, float | None]:
    """Pages that faulted in a step of the cell and of its reference: medians over their pairs."""
    pairs = [
        (worker.samples[pair.sample], pair.reference) for worker in workers for pair in worker.pairs
    ]
    own, reference = ([_faults(pair[side]) for pair in pairs] for side in (0, 1))
    return _median(own), _median(reference)


def _update_share(workers: Sequence[WorkerRecord]) -> float | None:
    """Of a cell's step, what its update takes: median over the blocks that were paired."""
    blocks = [worker.samples[pair.sample] for worker in workers for pair in worker.pairs]
    return _median([s.optimizer_s / s.median_s if s.optimizer_s else None for s in blocks])


def _faults(sample: Sample) -> float | None:
    counted = sample.noise.minor_faults if sample.noise else None
    return None if counted is None else counted / len(sample.step_s)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def held(cells: Sequence[CellRow]) -> list[HeldBytes]:
    """The memory of cells that there are formulas for, each worker once."""
    return [
        HeldBytes(cell.name, experiment, row["peak_rss_bytes"])
        for cell, row in cells
        if row["peak_rss_bytes"] and (experiment := _usable(cell)) is not None
    ]


def reference_s(cells: Sequence[CellRow], engine: str) -> float | None:
    """Seconds of a step of the engine's default experiment: the newest session's median."""
    usual = scope.plain(engine).identity
    by_name = {cell.name: cell for cell, _ in cells}
    workers = [
        worker
        for cell, _ in cells
        if (base := by_name.get(f"{cell.suite}/{cell.key.baseline}")) is not None
        and base.workers
        and base.workers[-1].identity == usual
        for worker in cell.workers
        if worker.pairs
    ]
    if not workers:
        return None
    newest = max(workers, key=lambda worker: worker.started).session
    return statistics.median(w.reference_s for w in workers if w.session == newest)


def _usable(cell: CellResult, same_as: bool = False) -> Experiment | None:
    """A cell's experiment, where it has a number of its own and there are formulas for it."""
    if not cell.ok or not cell.workers or (cell.same_as and not same_as):
        return None
    try:
        experiment = Experiment.from_json(cell.workers[-1].experiment)
        return None if scope.no_formula(experiment) else experiment
    except (ExperimentError, ValueError):  # of another version
        return None


def _differ(experiment: Experiment, reference: Experiment) -> bool:
    """Whether what they do differs in more than the data, on the same engine."""
    if experiment.runtime.engine != reference.runtime.engine:
        return False
    return experiment.model != reference.model or any(
        of(experiment) != of(reference)
        for of in (
            flops_per_step,
            lambda e: (e.training.grad_accum, e.training.optimizer, e.training.objective),
        )
    )


def _beside_moments(
    cell: CellResult, experiment: Experiment, moments: Sequence[Moment], places: Places
) -> Observation | None:
    usual = specs.settle(Experiment())  # whose moments these are
    if experiment.runtime.engine != usual.runtime.engine or not cell.step_s:
        return None
    at_s = datetime.datetime.fromisoformat(cell.workers[-1].started).timestamp()
    blocks = (sample.noise for worker in cell.workers for sample in worker.samples)
    place = places.of_blocks(blocks)
    around = [
        (abs(moment.at_s - at_s), moment.step_s)
        for moment in moments
        if abs(moment.at_s - at_s) <= NEAR_S and (place in (None, "moved") or moment.place == place)
    ]
    if not around:
        return None
    ratio = math.log(cell.step_s / statistics.median(step_s for _, step_s in sorted(around)[:3]))
    far = 0.0 if place is None else FAR[place]
    return Observation(cell.name, experiment, usual, ratio, UNTOLD_SD, fits=False, far=far)
