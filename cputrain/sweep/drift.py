"""What this machine's records tell of its drift, as a model sees it that trained just now."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import polars as pl

from cputrain import paths
from cputrain.analysis import (
    drift_apart,
    effects,
    identical,
    moments,
    places,
    trained_moments,
)
from cputrain.analysis.cost import predict
from cputrain.analysis.cost.costs import Costs
from cputrain.analysis.drift_apart import Slowdown
from cputrain.analysis.projection import Recorded
from cputrain.analysis.trained_moments import TrainedSteps
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.machine import two_cpus
from cputrain.record.files import RecordError
from cputrain.record.worker import WorkerRecord
from cputrain.report import costs
from cputrain.results import rows, step_moments, trained


def recorded(machine: str, worker: WorkerRecord) -> Recorded:
    """What the records tell of the while after a worker's minute: sweeps, and runs of `train`.

    As far as they are of before it: a run that was projected is not foretold by itself.
    How much its model slows down far apart is predicted, where its engine's costs are known; else
    it is taken to slow down as the default experiment does.

    Args:
        machine: its name.
        worker: that trained for a minute.

    Raises:
        OSError: what costs were learned cannot be written.
    """
    cells, _ = rows.read(paths.ROOT, machine)
    analysis = effects.analyse(cells, {})
    at = places.learn(identical.distinct(cell for cell in cells if cell.ok))
    placed = moments.placed(list(zip(cells, analysis.rows, strict=True)), at)
    known = costs.of(paths.ROOT, machine)
    runs = trained_moments.placed(_trained(machine, worker, known), at)
    began_s = datetime.datetime.fromisoformat(worker.started).timestamp()
    earlier = moments.before({**placed, **runs}, began_s)
    model, usual = Experiment.from_json(worker.experiment), Experiment()
    slowdown = _slowdown(model, usual, known)
    far = drift_apart.share(worker, at)
    return drift_apart.recorded(earlier, far, slowdown, alone=runs.keys())


def _slowdown(model: Experiment, usual: Experiment, known: Costs | None) -> Slowdown:
    """Nothing where one of them is not known."""
    of_model, of_usual = (predict.apart(specs.settle(each), known) for each in (model, usual))
    if of_model is None or of_usual is None:
        return Slowdown()
    return Slowdown(of_model, of_usual)


def _trained(machine: str, worker: WorkerRecord, known: Costs | None) -> Iterator[TrainedSteps]:
    """Runs of a worker's engine in one process.

    A run whose table of steps cannot be read is left out: an export says so.
    """
    engine = worker.experiment["runtime"]["engine"]
    for record, path in trained.records(paths.ROOT, machine):
        its = record.worker
        if its.experiment["runtime"]["engine"] != engine or record.processes != [1]:
            continue
        try:
            steps = step_moments.read(path)
        except (OSError, RecordError, ValueError, pl.exceptions.PolarsError):
            continue
        cpus = () if its.placement is None else tuple(two_cpus.ends(its.placement.cpus))
        slowdown = _slowdown(Experiment(), Experiment.from_json(its.experiment), known)
        yield TrainedSteps(record.name, steps, cpus, slowdown)
