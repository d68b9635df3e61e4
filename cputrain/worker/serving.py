"""A worker's process, from its start to its end."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from cputrain.record import requests
from cputrain.record.requests import FinishCommand, ProveCommand, SampleCommand

LAUNCH_MASK = os.sched_getaffinity(0)
"""The mask that this process was started with: libraries that come later may bind threads."""


class Server(Protocol):
    """What a launcher's words are done by: one process's `worker.job.Job`."""

    def prepare(self) -> None:
        """Everything before the first sample."""

    def sample(self, command: SampleCommand) -> None:
        """One sample."""

    def prove(self) -> None:
        """The proof so far."""

    def finish(self) -> None:
        """The proof, the model, the last answer."""


def begin(descriptor: int) -> None:
    """What a worker does first: whatever it starts shall not hold its answers open."""
    os.set_inheritable(descriptor, False)
    # Of the thread that failed: others run on while their stacks are read, which can fault too, and
    # the process would end by that signal instead.
    faulthandler.enable(all_threads=False)
    # Were memory to run out, the kernel should end this process and not asv.
    Path("/proc/self/oom_score_adj").write_text("1000")


def serve(worker: Server) -> None:
    """Do what the launcher says, until it has the worker finish.

    Raises:
        msgspec.DecodeError: a line is no command.
    """
    worker.prepare()
    for line in sys.stdin:
        match requests.decode_command(line):
            case SampleCommand() as command:
                worker.sample(command)
            case ProveCommand():
                worker.prove()
            case FinishCommand():
                worker.finish()
                return


def leave(run: Callable[[], int]) -> None:
    """Run, and end this process with its status.

    Taking torch down in good order costs half a second and nobody needs it.
    """
    status = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
