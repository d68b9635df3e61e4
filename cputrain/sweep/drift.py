"""What this machine's records tell of its drift, as a model sees it that trained just now."""

from __future__ import annotations

from cputrain import paths
from cputrain.analysis import drift_apart, effects, identical, moments, places
from cputrain.analysis.cost import predict
from cputrain.analysis.drift_apart import Slowdown
from cputrain.analysis.projection import Recorded
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.worker import WorkerRecord
from cputrain.report import costs
from cputrain.results import rows


def recorded(machine: str, worker: WorkerRecord) -> Recorded:
    """What the records tell of the while after a worker's minute.

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
    experiments = Experiment.from_json(worker.experiment), Experiment()
    model, usual = (predict.apart(specs.settle(each), known) for each in experiments)
    slowdown = Slowdown() if model is None or usual is None else Slowdown(model, usual)
    return drift_apart.recorded(placed, drift_apart.share(worker, at), slowdown)
