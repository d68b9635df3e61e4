"""Which OpenMP library runs the native engine's threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Placement
from cputrain.knobs.omp_runtime import OmpRuntime
from cputrain.machine import openmp

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check


class NativeOmpRuntime(OmpRuntime):
    """The native engine always calls OpenMP, and its library says who serves it."""

    caller = "the native engine"

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        from cputrain.knobs.inforce import same

        name = "OpenMP runtime that the native engine is bound to"
        bound = same(name, openmp.serving().path, readings.get("openmp"))
        return [*super().checks(experiment, placement, readings), bound]

    def is_called(self, readings: dict[str, Any]) -> bool:
        return True
