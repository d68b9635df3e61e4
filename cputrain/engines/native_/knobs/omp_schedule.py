"""How OpenMP shares out the native engine's loops among its threads.

Its loops leave that to the runtime (schedule(runtime)), which reads OMP_SCHEDULE when it is loaded;
without it libgomp takes dynamic, in turns of one. torch's loops are shared out by torch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.engines.native_ import library_build
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import built, mapped, openmp

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

VARIABLE = "OMP_SCHEDULE"
BY_TURN = ("dynamic", "guided")
"""Schedules of turns of one where nothing else is said."""
AT_RUN_TIME = re.compile(
    r"GOMP_(parallel_)?loop(_ull)?(_maybe)?(_nonmonotonic)?_runtime(_start)?|__kmpc_dispatch_init_\w+"
)
"""What loops call that ask the runtime for their schedule, compiled by gcc or by clang."""


class OmpSchedule(Knob):
    """How OpenMP shares out the native engine's loops."""

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        return {VARIABLE: experiment.system.omp_schedule}

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        loaded = [Path(path) for path in mapped.libraries(library_build.NAME)]
        return in_force(experiment.system.omp_schedule, loaded, readings)


def in_force(schedule: str, loaded: list[Path], readings: dict[str, Any]) -> list[Check]:
    """What the runtime says that it does, and whether the library's loops ask it.

    Args:
        schedule: as in system.omp_schedule.
        loaded: the native engine's library, as it is mapped.
        readings: `run_sched` is what the library was told by the runtime that it calls.

    Raises:
        Unknown: no OpenMP runtime is loaded, or `loaded` is no library.
    """
    from cputrain.knobs.inforce import Check, same

    expected = f"{schedule},1" if schedule in BY_TURN else schedule
    calls = {name for path in loaded for name in built.linked_names(path)}
    asking = sorted(name for name in calls if AT_RUN_TIME.fullmatch(name))
    return [
        same("OpenMP's schedule of loops", expected, openmp.schedule()),
        same("the schedule that the library sees", expected, readings.get("run_sched")),
        Check("loops that ask for it", "one at least", asking, bool(asking)),
    ]
