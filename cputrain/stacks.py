"""The environments that engines run in: the measured stack, and IPEX's with a torch of its own.

asv starts its processes in one of them, and says which by a variable of its environment.
Standard library only.
"""

from __future__ import annotations

import os

from cputrain.experiment import Experiment

MAIN, IPEX = "main", "ipex"
VARIABLE = "CPUTRAIN_STACK"
"""Set by asv.ipex.conf.json; absent in the main one."""


def of(experiment: Experiment) -> str:
    """The environment that has the experiment's engine."""
    return IPEX if experiment.runtime.engine == "ipex" else MAIN


def running() -> str:
    """The environment that this process belongs to."""
    return os.environ.get(VARIABLE) or MAIN


def why_not(experiment: Experiment) -> str | None:
    """Why this process's environment cannot run `experiment`, or None where it can."""
    if of(experiment) == running():
        return None
    if running() == IPEX:
        return "IPEX's environment runs engine = 'ipex' only"
    return "IPEX has an environment of its own: python3 bench.py run --ipex"
