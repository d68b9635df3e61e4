"""The threads that XLA computes with.

XLA makes them when the first device is asked for: as many as NPROC says, or as there are CPUs in
the mask. OMP_NUM_THREADS and --xla_cpu_multi_thread_eigen change nothing (jax 0.10.2). Programs
are started by a thread of another pool, without a name, which executes what is not worth sharing
out, and with NPROC=1 nearly everything; it waits while the pool works, so no more than NPROC
threads ever run at a time (tried: CPU time over wall time was 1.05 at most with NPROC=1 on two
CPUs). The engine's spec has the pool counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cputrain.knobs.knob import Knob, Placement

if TYPE_CHECKING:
    from cputrain.experiment import Experiment


class JaxThreads(Knob):
    """The threads that XLA computes with."""

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        return {"NPROC": str(placement.threads)}
