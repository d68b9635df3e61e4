"""What was in force at the first step of a stretch, as a worker reports it."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from cputrain.experiment.parts import SIMULATED
from cputrain.machine import state as machine_state
from cputrain.model.counts import counts
from cputrain.record.answers import Ready
from cputrain.record.part import readings, typed
from cputrain.record.process import State
from cputrain.record.proof import Check
from cputrain.record.work import Counts, Data

if TYPE_CHECKING:
    from cputrain.worker.preparation import Preparation


def report(worker: Preparation, checks: list[Check]) -> Ready:
    """Of a worker that has trained its first step, with what was found to be in force."""
    engine, experiment = worker.engine, worker.experiment
    return Ready(
        readings=engine.readings(),
        state=readings(State, machine_state.read(worker.all_cpus)),
        phases=worker.phases,
        composed=None,
        started_from=worker.started_from,
        simulated=SIMULATED.get(experiment.training.precision),
        counts=typed(Counts, counts(experiment)),
        data=typed(Data, worker.feed.facts()),
        versions={"python": platform.python_version(), **engine.versions()},
        in_force=checks,
        no_passes=engine.no_passes,
    )
