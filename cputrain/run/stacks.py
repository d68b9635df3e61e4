"""The environments that engines run in: the measured stack, and IPEX's with a torch of its own.

asv starts its processes in one of them, and says which by a variable of its environment.
Standard library only.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from cputrain import environ
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.machine import isa, reading

MAIN, IPEX = "main", "ipex"
ALL = (MAIN, IPEX)
VARIABLE = environ.STACK
"""Set by asv.ipex.conf.json; absent in the main one."""
CONFIGURATION = {MAIN: "asv.conf.json", IPEX: "asv.ipex.conf.json"}
REQUIREMENTS = {MAIN: "requirements.txt", IPEX: "requirements-ipex.txt"}
PYTHONS = ((3, 11), (3, 13))
"""First and last that both this project and IPEX 2.8's wheels are for."""


def of(experiment: Experiment) -> str:
    """The environment that has the experiment's engine."""
    return specs.of(experiment.runtime.engine).stack


def running() -> str:
    """The environment that this process belongs to."""
    return environ.value(VARIABLE) or MAIN


def why_elsewhere(experiment: Experiment, here: str | None = None) -> str | None:
    """Why `experiment` runs in another environment than `here`, or None where it runs there.

    Args:
        here: this process's where left out.
    """
    here = here or running()
    if of(experiment) == here:
        return None
    if here == IPEX:
        names = [name for name in specs.NAMES if specs.of(name).stack == here]
        return f"IPEX's environment runs engine = {specs.joined(tuple(map(repr, names)))} only"
    return "IPEX has an environment of its own, for suites: python3 bench.py run --ipex"


def why_not_beside(reference: Experiment, here: str | None = None) -> str | None:
    """Why `reference` cannot run beside a cell of environment `here`, or None where it can.

    IPEX's environment has the default experiment's engine too, of a release of its own.

    Args:
        here: this process's where left out.
    """
    here = here or running()
    is_usual = reference.runtime.engine == Experiment().runtime.engine
    return None if here == IPEX and is_usual else why_elsewhere(reference, here)


def why_not(experiment: Experiment, root: Path = reading.ROOT) -> str | None:
    """Why this machine cannot run `experiment` in the environment that has its engine."""
    if of(experiment) == IPEX and (reason := why_no_ipex(root)) is not None:
        return reason
    return specs.of(experiment.runtime.engine).why_not(experiment, root)


def why_no_ipex(
    root: Path = reading.ROOT, python: tuple[int, int] = sys.version_info[:2]
) -> str | None:
    """Why IPEX's environment cannot be on this machine, or None where it can.

    Args:
        root: where the CPU's flags are read.
        python: the version that asv makes its environments with.
    """
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        return f"IPEX is for Linux on x86-64 only, and this is {system} on {machine}"
    if not PYTHONS[0] <= python <= PYTHONS[1]:
        first, last, here = (".".join(map(str, version)) for version in (*PYTHONS, python))
        return f"IPEX 2.8 is for Python {first} to {last}, and this is {here}"
    if (reason := isa.why_not("avx2", root)) is not None:
        return f"IPEX needs AVX2: {reason}"
    return None
