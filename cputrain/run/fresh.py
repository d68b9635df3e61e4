"""A worker's own interpreter: its settings are applied before it starts.

Environment, affinity mask, preloaded libraries, programs that start it under a policy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain import environ, paths
from cputrain.engines import settings
from cputrain.experiment import Experiment
from cputrain.machine.parent import dies_with_parent
from cputrain.record.process import Placement
from cputrain.run.placement import COMPILED, environment
from cputrain.worker.ranks import torchrun

CACHE: dict[str | None, str] = {
    **dict.fromkeys(("aot_eager", "inductor"), "TORCHINDUCTOR_CACHE_DIR"),
    "xla": "JAX_COMPILATION_CACHE_DIR",
}
"""The variable that says where compiled code is kept."""
TEMPORARY = "tmp"
"""In that folder: temporary files, and the headers that inductor keeps among them."""


@dataclass(frozen=True)
class Interpreter:
    """A worker's process that has just started.

    Attributes:
        mark: value of `environ.WORKER` in it and in all that it starts.
        compiled: folder for compiled code; None where the engine compiles nothing.
    """

    process: subprocess.Popen[bytes]
    mark: str
    compiled: Path | None


def start(
    experiment: Experiment,
    placement: Placement,
    answers: int,
    command: Sequence[str] = (),
    compiled: Path | None = None,
) -> Interpreter:
    """Start an interpreter with the settings of `experiment`.

    Args:
        experiment: settled.
        placement: of `experiment`.
        answers: descriptor that the worker answers on.
        command, compiled: see `launch.Worker`.

    Raises:
        OSError: it cannot be started.
    """
    mark = uuid.uuid4().hex
    env = {**environment(experiment, placement), environ.WORKER: mark}
    folder = None
    if experiment.runtime.compile != "eager":
        folder = compiled or COMPILED / mark
        # Inductor keeps headers, some 100 MB compiled beforehand, beside its cache and below
        # TMPDIR: a cold start has none, and none stay behind.
        temporary = folder / TEMPORARY
        env |= {CACHE[experiment.runtime.compile]: str(folder), "TMPDIR": str(temporary)}
        temporary.mkdir(parents=True, exist_ok=True)
    tie, cpus = dies_with_parent(), placement.cpus
    before_exec = settings.before_exec(experiment)
    words = (*settings.command(experiment, placement), *_program(placement, command))

    def prepare() -> None:
        os.sched_setaffinity(0, cpus)
        for call in before_exec:
            call()
        tie()

    process = subprocess.Popen(
        [*words, str(answers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=paths.PROJECT,
        env=env,
        pass_fds=(answers,),
        preexec_fn=prepare,
    )
    return Interpreter(process, mark, folder)


def _program(placement: Placement, command: Sequence[str]) -> tuple[str, ...]:
    module = "cputrain.worker.ranks" if placement.ranks else "cputrain.worker.job"
    program = tuple(command) or (sys.executable, "-P", "-m", module)
    return torchrun.words(len(placement.ranks), program) if placement.ranks else program
