"""The thread counts that torch is told after its start.

torch.set_num_threads goes to OpenMP and to MKL, and turns off MKL's own choice of fewer threads;
OMP_NUM_THREADS stays as it is. torch.set_num_interop_threads is for code that forks tasks
(torch.jit.fork, torch.distributed): a plain training step has none, and the pool is not even
started, so that the count shows in the getter and in nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Knob, Placement

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check


class TorchThreads(Knob):
    """The thread counts that torch is told after its start."""

    def before_work(self, experiment: Experiment, placement: Placement) -> None:
        system = experiment.system
        if system.inter_op_threads is None and system.intra_op_threads is None:
            return
        import torch

        # Once only, and before any parallel work: torch raises afterwards.
        if system.inter_op_threads is not None:
            torch.set_num_interop_threads(system.inter_op_threads)
        if system.intra_op_threads is not None:
            torch.set_num_threads(system.intra_op_threads)

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        from cputrain.knobs.inforce import same

        system, checks = experiment.system, []
        if (expected := system.inter_op_threads) is not None:
            reported = readings.get("inter_op_threads")
            checks.append(same("torch.get_num_interop_threads()", expected, reported))
        if (expected := system.intra_op_threads) is not None:
            reported = readings.get("intra_op_threads")
            checks.append(same("torch.get_num_threads(), as set", expected, reported))
            if (mkl := mkl_threads(readings.get("parallel_info", ""))) is not None:
                checks.append(same("mkl_get_max_threads()", expected, mkl))
        return checks


def mkl_threads(parallel_info: str) -> int | None:
    """MKL's thread count in torch.__config__.parallel_info(); None where torch has no MKL."""
    match = re.search(r"mkl_get_max_threads\(\) : (\d+)", parallel_info)
    return None if match is None else int(match[1])
