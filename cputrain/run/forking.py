"""Workers that are forked from a parent which has imported their engine: ready in half a second.

A parent stands for one exact environment and mask. What a worker needs before its interpreter
starts, as a preloaded library or a program that starts it under a policy, no parent has: such a
worker gets a fresh interpreter, as does one whose start is what is measured.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import uuid

from cputrain import environ, paths
from cputrain.engines import settings, specs
from cputrain.experiment import Experiment
from cputrain.machine.parent import dies_with_parent
from cputrain.record.process import Placement
from cputrain.run import family
from cputrain.run.forked import Forked
from cputrain.run.placement import environment

AT_LOAD = ("GLIBC_TUNABLES", "MALLOC_", "OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY")
"""Variables that decide, when a library is loaded, about memory and CPUs of whoever loads it."""
DIED = "the parent of forked workers died"
START_S = 60.0
"""An import of torch from a slow disk."""


class ParentFailed(RuntimeError):
    """A parent that cannot fork workers; one line says why."""


def forkable(experiment: Experiment, placement: Placement) -> bool:
    """Whether a parent can fork the worker of `experiment`."""
    return (
        specs.of(experiment.runtime.engine).forks
        and experiment.runtime.compile == "eager"
        and experiment.runtime.jit_state == "steady"
        and not placement.ranks
        and not settings.preload(experiment)
        and not settings.command(experiment, placement)
        and not settings.before_exec(experiment)
        and not any(
            name.startswith(AT_LOAD) for name in settings.environment(experiment, placement)
        )
    )


class Parents:
    """The parents of one asv call, each started when it is first needed, or expected to be."""

    def __init__(self) -> None:
        self._parents: dict[object, Parent] = {}

    def _of(self, experiment: Experiment, placement: Placement) -> Parent:
        env, engine = environment(experiment, placement), experiment.runtime.engine
        key = (engine, tuple(sorted(env.items())), tuple(placement.cpus))
        if key not in self._parents or not self._parents[key].lives:
            self._parents[key] = Parent(engine, env, placement.cpus)
        return self._parents[key]

    def expect(self, experiment: Experiment, placement: Placement) -> None:
        """Start the parent of a later worker, and do not wait for it. Raises OSError."""
        self._of(experiment, placement)

    def settle(self) -> None:
        """Wait until no parent imports any more: nothing runs beside a measurement.

        One that could not be started is gone; whoever needs it starts another, and hears why.
        """
        for key, parent in list(self._parents.items()):
            try:
                parent.wait()
            except ParentFailed:
                parent.end()
                del self._parents[key]

    def fork(
        self, experiment: Experiment, placement: Placement, answers: int
    ) -> tuple[Forked, str]:
        """A worker that answers on the descriptor `answers`, and the mark of its parent's workers.

        Raises:
            ParentFailed: the parent could not be started, or gave no worker; the next one gets
                another parent.
        """
        parent = self._of(experiment, placement)
        try:
            return parent.fork(answers), parent.mark
        except ParentFailed:
            parent.end()
            raise

    def end(self) -> None:
        """End the parents; workers that live go on."""
        for parent in self._parents.values():
            parent.end()
        self._parents.clear()


class Parent:
    """A process that has imported an engine and done nothing else; see `worker.parent`.

    Args:
        engine: its name.
        env: the whole environment.
        cpus: the mask.
    """

    def __init__(self, engine: str, env: dict[str, str], cpus: tuple[int, ...]) -> None:
        self.mark = uuid.uuid4().hex
        self._socket, other = socket.socketpair()
        tie = dies_with_parent()

        def prepare() -> None:
            os.sched_setaffinity(0, cpus)
            tie()

        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cputrain.worker.parent", str(other.fileno()), engine],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=paths.PROJECT,
                env={**env, environ.WORKER: self.mark},
                pass_fds=(other.fileno(),),
                preexec_fn=prepare,
            )
        family.started(self._process.pid)
        self._socket.settimeout(START_S)
        self._is_ready = False

    def wait(self) -> None:
        """Wait until it has imported its engine. Raises ParentFailed."""
        if not self._is_ready and (answer := self._answer()) != "ready":
            raise ParentFailed(answer)
        self._is_ready = True

    @property
    def lives(self) -> bool:
        """Whether it can be asked for a worker."""
        if self._process.poll() is not None:
            self.end()
        return self._process.returncode is None

    def fork(self, answers: int) -> Forked:
        """A worker of this parent, once that is ready. Raises ParentFailed."""
        self.wait()
        commands, stdin = os.pipe()
        stdout, printed = os.pipe()
        try:
            socket.send_fds(self._socket, [b"fork"], [commands, printed, answers])
            answer = self._answer()
        except OSError as error:
            answer = f"{DIED}: {error.strerror}"
        finally:
            os.close(commands)
            os.close(printed)
        if not answer.isdigit():
            os.close(stdin)
            os.close(stdout)
            raise ParentFailed(answer)
        return Forked(int(answer), os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb", buffering=0))

    def _answer(self) -> str:
        try:
            return self._socket.recv(4096).decode() or DIED
        except TimeoutError:
            return f"the parent of forked workers did not answer within {START_S:g} s"
        except OSError as error:
            return f"{DIED}: {error.strerror}"

    def end(self) -> None:
        """End the process. Safe to call again."""
        self._process.kill()
        self._process.wait()
        family.ended(self._process.pid)
        with contextlib.suppress(OSError):
            self._socket.close()
