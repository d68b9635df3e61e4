"""A process of its own that has torch compute on OpenMP's threads and then tells the checks."""

import functools
import json
import os
import subprocess
import sys

from cputrain import paths

PROGRAM = """
import json, sys
from cputrain.engines import settings
from cputrain.experiment import Experiment
from cputrain.run.placement import place

experiments = [Experiment().but(**changes) for changes in json.loads(sys.argv[1])]
placed = [place(experiment) for experiment in experiments]  # importing torch may bind this thread
import torch
from cputrain.engines.torch_ import readings

matrix = torch.ones(512, 512)
torch.nn.functional.gelu(matrix @ matrix)
told = []
for experiment, placement in zip(experiments, placed):
    checks = settings.checks(experiment, placement, readings.readings())
    told.append({check.name: [check.ok, str(check.actual)] for check in checks})
print(json.dumps(told))
"""


def told(experiments, **environment):
    """What the settings' checks say of each experiment in a process with `environment`.

    By the check's name whether it holds, and what was found.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(experiments)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(paths.PROJECT), **environment},
        cwd=paths.PROJECT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


PINNED = [{"pinning": name, "threads": 2} for name in ("none", "close", "spread", "explicit")]
RUNTIMES = [{"omp_runtime": "libgomp"}, {"omp_runtime": "libiomp5"}]
TORCH = [{"intra_op_threads": 3}, {"inter_op_threads": 97}]


@functools.cache
def plain():
    """`told` of PINNED, RUNTIMES and TORCH in a process that was told two threads alone."""
    groups = {"pinned": PINNED, "runtimes": RUNTIMES, "torch": TORCH}
    checks = iter(
        told([changes for group in groups.values() for changes in group], OMP_NUM_THREADS="2")
    )
    return {name: [next(checks) for _ in group] for name, group in groups.items()}


def failed(checks):
    """The names of the checks that do not hold."""
    return {name for name, (ok, _) in checks.items() if not ok}
