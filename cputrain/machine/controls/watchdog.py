"""The watchdog: it puts the machine back when the process that changed it is gone, however it went.

It is started before the first change, in a session of its own, so that neither a key in the
terminal nor the end of its parent reaches it. Its standard input is a socket to the parent: a
byte there means that all was put back, its end that the parent is gone. A signal to end makes it
put everything back at once and go on watching: its parent may still be writing. `Guard` is the
parent's end.

Usage: python -m cputrain.machine.controls.watchdog JOURNAL ID ROOT
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine.controls.control import ControlError, Files
from cputrain.machine.controls.journal import Journal
from cputrain.machine.controls.leftover import undo

READY, DONE = b"r", b"d"
PATIENCE_S = 10.0
"""How long it may take to start, and to end."""


class Guard:
    """The parent's end of the watchdog over `journal`, which need not be on disk yet.

    Raises:
        ControlError: it did not start, so nothing may be changed.
    """

    def __init__(self, journal: Journal) -> None:
        self._socket, other_end = socket.socketpair()
        program = [sys.executable, "-P", "-S", "-m", "cputrain.machine.controls.watchdog"]
        try:
            # Nothing of the parent's but the socket: whoever waits for the end of the parent's
            # output, or ends its session or its marked processes, shall not meet the watchdog.
            self.process = subprocess.Popen(
                [*program, str(journal.path.absolute()), journal.id, journal.root],
                stdin=other_end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PYTHONPATH": str(paths.PROJECT), "PYTHONDONTWRITEBYTECODE": "1"},
                start_new_session=True,
            )
        except OSError as error:
            raise ControlError(f"the watchdog could not be started: {error.strerror}") from error
        finally:
            other_end.close()
        self._socket.settimeout(PATIENCE_S)
        try:
            ready = self._socket.recv(1) == READY
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
            self._socket.send(DONE)
        self.leave()

    def leave(self) -> None:
        """Leave the rest to it: it puts back what it can."""
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it goes on by itself
            self.process.wait(PATIENCE_S)


def restore(path: Path, id: str, files: Files, *, last: bool) -> bool:
    """Put back in `files` what journal `id` says; whether nothing is left to do.

    `last` removes the journal then.
    """
    try:
        journal = Journal.load(path)
    except FileNotFoundError:
        return True
    except UsageError:
        return False
    if journal.id != id:
        return True
    done = not undo(journal, files).left
    if done and last:
        journal.remove()
    return done


def main(path: Path, id: str, files: Files) -> int:
    """Watch; 1 where something could not be put back, and the journal is left."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: restore(path, id, files, last=False))
    try:
        os.write(0, READY)
        message = os.read(0, 1)
    except OSError:  # the other end is gone already
        message = b""
    if message == DONE:
        return 0
    return 0 if restore(path, id, files, last=True) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], Files(Path(sys.argv[3]))))
