"""What runs on a node: a clone of its own, and bench.py in it. submitit pickles it."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock
from submitit.helpers import DelayedSubmission

from cputrain.errors import RunError
from cputrain.machine.parent import dies_with_parent
from cputrain.record.fleet import NodeEnded
from cputrain.sweep.fleet.surroundings import environment
from cputrain.wording import one_line

FINISHED = "fleet"
"""File in a clone's .git: the fleets that have measured there."""
LOG = "fleet.log"
"""File in a clone's .git: what bench.py said."""
PATIENCE_S = 60.0
"""So long has bench.py to stop, and the scheduler to end a task that it has told to stop."""
LATE = signal.SIGUSR2
"""What submitit has Slurm send before the time limit."""
STOPPED = tuple(128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
"""bench.py's statuses when a signal has stopped it."""


class Stopped(Exception):
    """The sweep was stopped from outside and is not at its end."""


def name() -> str:
    """The scheduler's name of this node; several may run on one host."""
    plain = os.environ.get("SLURMD_NODENAME") or platform.node()
    return re.sub(r"[^\w.-]", "_", plain).lstrip(".") or "unnamed"


class Task:
    """One sweep, on whichever node it comes to run.

    A task that is put back into the queue starts anew, and bench.py goes on where it stopped: in
    the clone of its node. Another node has another clone, and starts from the beginning.

    Args:
        fleet: the fleet's name.
        project: the clone that the fleet was started from.
        commit: which is measured.
        nodes: folder for the nodes' clones, which all nodes see.
        command: the words that are run in a clone.
    """

    def __init__(
        self, fleet: str, project: Path, commit: str, nodes: Path, command: tuple[str, ...]
    ) -> None:
        self.fleet, self.project, self.commit = fleet, project, commit
        self.nodes, self.command = nodes, command

    process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> NodeEnded:
        """Measure, unless this fleet has measured this node already.

        Raises:
            Stopped: somebody or something ended bench.py.
            RunError: git failed.
        """
        folder = self.nodes / name()
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            self._clone(folder)
            finished = folder / ".git" / FINISHED
            if finished.exists() and self.fleet in finished.read_text().split():
                return NodeEnded(name(), str(folder), None, "another task has measured it")
            status = self._run(folder)
            if status in STOPPED or status < 0:
                time.sleep(PATIENCE_S)  # a task that is put back into the queue ends here
                raise Stopped(f"bench.py was stopped on {name()}: status {status}")
            with finished.open("a") as file:
                file.write(f"{self.fleet}\n")
        return NodeEnded(name(), str(folder), status, last_line(folder / ".git" / LOG))

    def checkpoint(self, *_: Any) -> DelayedSubmission:
        """Called by submitit before it puts the task back into the queue: end bench.py first."""
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGTERM)
            end = time.monotonic() + PATIENCE_S
            while _lives(self.process.pid) and time.monotonic() < end:
                time.sleep(0.1)
        return DelayedSubmission(self)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "process"}

    def _clone(self, folder: Path) -> None:
        """A clone of the project at the fleet's commit; what lies there already stays."""
        if not folder.exists():
            half = folder.with_name(f".{folder.name}.half")
            shutil.rmtree(half, ignore_errors=True)  # of a node that died meanwhile
            _git("clone", "--quiet", "--no-checkout", str(self.project), str(half))
            half.rename(folder)
        _git("-C", str(folder), "fetch", "--quiet", "origin", self.commit)
        _git("-C", str(folder), "checkout", "--quiet", "--detach", self.commit)

    def _run(self, folder: Path) -> int:
        """The command in the clone, to its end; its status."""
        with (folder / ".git" / LOG).open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(folder),
                preexec_fn=_starts(),
            )
            return self.process.wait()


def _starts() -> Callable[[], None]:
    """For a child, before it is what it is to be: it ends with us, and only we hear the scheduler.

    Slurm's signal before the time limit goes to every process, and would kill most of them.
    """
    tie = dies_with_parent()

    def start() -> None:
        tie()
        signal.signal(LATE, signal.SIG_IGN)

    return start


def _lives(child: int) -> bool:
    """Whether it has not ended. Popen cannot tell a signal's handler while it waits itself."""
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _git(*words: str) -> None:
    done = subprocess.run(["git", *words], capture_output=True, text=True)
    if done.returncode:
        raise RunError(f"git {words[-1]}: {one_line(done.stderr.strip())}")


def last_line(log: Path) -> str:
    """What a log says last."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else "nothing"
