"""Which OpenMP library runs torch's threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Placement
from cputrain.knobs.omp_runtime import INTEL, OmpRuntime
from cputrain.machine import openmp

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check


class TorchOmpRuntime(OmpRuntime):
    """torch may be built without OpenMP: then it has threads of its own, whatever is asked."""

    caller = "torch"

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        """Also that torch takes its thread count from the library that was asked."""
        checks = super().checks(experiment, placement, readings)
        if experiment.system.omp_runtime != INTEL or not all(check.ok for check in checks):
            return checks
        import torch

        from cputrain.knobs.inforce import same

        follows = openmp.follows(openmp.serving(), torch.get_num_threads)
        return [*checks, same(f"torch's thread count is {INTEL}'s", True, follows)]
