"""A worker's process, however it was started; one that a parent has forked."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import IO, Protocol


class Process(Protocol):
    """A worker's process: what `subprocess.Popen` and `Forked` have in common."""

    pid: int
    returncode: int | None
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def poll(self) -> int | None:
        """Its exit status, or minus the signal that ended it; None while it lives."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""

    def kill(self) -> None:
        """Send SIGKILL, if it lives."""


class Forked:
    """A forked worker: this process's child by adoption.

    Args:
        pid: of the worker.
        stdin, stdout: the ends of its pipes that are ours.
    """

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout

    def poll(self) -> int | None:
        """See `Process`."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """See `Process`."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and timeout is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("a forked worker", timeout)
            time.sleep(0.002)
        return code

    def kill(self) -> None:
        """See `Process`."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
