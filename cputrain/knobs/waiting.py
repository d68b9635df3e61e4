"""What OpenMP's threads do while they wait for work: spin, sleep, or spin a while and then sleep.

OMP_WAIT_POLICY is OpenMP's own; how long is meant is the runtime's (libgomp: GOMP_SPINCOUNT,
turns; libiomp5: KMP_BLOCKTIME, ms). libgomp spins 300 000 turns unless told, none where passive
and 30 000 000 000 where active (env.c of GCC), so passive and spin_0 are one thing to it;
libiomp5 spins 200 ms, none, and for ever. OMP_DISPLAY_ENV is no evidence: libgomp says PASSIVE
where nothing is set. The effect shows in the voluntary switches of a sample, which are recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import openmp, reading

if TYPE_CHECKING:
    from cputrain.experiment import Experiment
    from cputrain.knobs.inforce import Check

SPIN_0 = {"libgomp": {"GOMP_SPINCOUNT": "0"}, "libiomp5": {"KMP_BLOCKTIME": "0"}}
"""How each runtime is told not to spin."""
GNU_READS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
KMP_READS = ("OMP_WAIT_POLICY", "KMP_BLOCKTIME", "KMP_LIBRARY")
ALWAYS_MS = 2**31 - 1
"""Blocktime of libiomp5's threads that never sleep."""


class Waiting(Knob):
    """What OpenMP's threads do while they wait: as the runtime has it, spin, or sleep."""

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        return variables(experiment.system.wait_policy, experiment.system.omp_runtime)

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        system = experiment.system
        try:
            runtime = openmp.serving()
        except reading.Unknown:
            if system.wait_policy == "default":
                return []  # an engine without OpenMP
            raise
        expected = variables(system.wait_policy, system.omp_runtime)
        return in_force(system.wait_policy, expected, runtime)


def variables(policy: str, runtime: str) -> dict[str, str]:
    """What `policy` is in the environment of a process with OpenMP library `runtime`."""
    if policy == "default":
        return {}
    return SPIN_0[runtime] if policy == "spin_0" else {"OMP_WAIT_POLICY": policy}


def in_force(
    policy: str, expected: dict[str, str], runtime: openmp.LoadedRuntime, root: Path = reading.ROOT
) -> list[Check]:
    """Whether the runtime that torch calls was told `expected`, and nothing else, when it started.

    A variable that this runtime does not read does not count. libiomp5 also tells how long its
    threads spin; libgomp has no such function.

    Raises:
        reading.Unknown: /proc/self/environ cannot be read.
    """
    from cputrain.knobs.inforce import same

    reads = KMP_READS if runtime.is_kmp else GNU_READS
    actual = {name: value for name, value in started_with(root).items() if name in reads}
    name = f"waiting, as {Path(runtime.path).name} was told"
    checks = [same(name, expected, actual)]
    if runtime.is_kmp and policy != "default":
        spins = ALWAYS_MS if policy == "active" else 0
        checks.append(same("blocktime, ms", spins, openmp.blocktime_ms(runtime)))
    return checks


def started_with(root: Path = reading.ROOT) -> dict[str, str]:
    """The environment as this process got it, whatever was changed in it since. Raises Unknown."""
    lines = reading.text(root, "/proc/self/environ").split("\0")
    return {name: value for name, _, value in (line.partition("=") for line in lines)}
