"""The parent's end of the watchdog."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys

from cputrain import paths
from cputrain.machine.controls.files import ControlError
from cputrain.machine.controls.journal import Journal
from cputrain.machine.controls.watchdog import DONE, READY

PATIENCE_S = 10.0


class Guard:
    """A running watchdog over `journal`, which is on disk.

    Raises:
        ControlError: it did not start, so nothing may be changed.
    """

    def __init__(self, journal: Journal) -> None:
        self._mine, its = socket.socketpair()
        words = ["-P", "-S", "-m", "cputrain.machine.controls.watchdog"]
        try:
            # Nothing of the parent's but the socket: whoever waits for the end of the parent's
            # output, or ends its session or its marked processes, shall not meet the watchdog.
            self.process = subprocess.Popen(
                [sys.executable, *words, str(journal.path.absolute()), journal.id],
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PYTHONPATH": str(paths.PROJECT), "PYTHONDONTWRITEBYTECODE": "1"},
                start_new_session=True,
            )
        except OSError as error:
            raise ControlError(f"the watchdog could not be started: {error.strerror}") from error
        finally:
            its.close()
        self._mine.settimeout(PATIENCE_S)
        try:
            ready = self._mine.recv(1) == READY
        except OSError:
            ready = False
        if not ready:
            self.process.kill()
            self.dismiss()
            raise ControlError("the watchdog did not start, so nothing is changed")

    def is_there(self) -> bool:
        """Whether it still watches."""
        return self.process.poll() is None

    def dismiss(self) -> None:
        """Tell it that all was put back; it ends."""
        with contextlib.suppress(OSError):  # it was killed
            self._mine.send(DONE)
        self.leave()

    def leave(self) -> None:
        """Leave the rest to it: it puts back what it can."""
        self._mine.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it goes on by itself
            self.process.wait(PATIENCE_S)
