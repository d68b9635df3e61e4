"""The conductor's process, in the environment that has the engines.

`python -m cputrain.run.conductor CONTROL SOCKET` serves every connection to the path SOCKET, one
after the other, until the descriptor CONTROL, whose other end whoever started it holds, ends;
`... CONTROL` alone serves CONTROL itself as the only lease: that of an `asv run` without bench.py.

Nothing but that end, and no signal, tells it that whoever started it is gone: it ends in order,
and takes what workers keep on disk with it.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import sys
import time
from pathlib import Path

from cputrain.errors import UsageError
from cputrain.machine import lock
from cputrain.run import guard
from cputrain.run.conductor.connection import Connection
from cputrain.run.conductor.protocol import Refused
from cputrain.run.conductor.server import Conductor
from cputrain.run.family import adopt_orphans
from cputrain.run.session import Session

PATIENCE_S = 10.0
"""For the conductor of the cell before, which ends its workers after that cell's process."""


def main() -> int:
    """Serve to the end."""
    adopt_orphans()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    status = _listen(control, Path(sys.argv[2])) if len(sys.argv) > 2 else _alone(control)
    guard.end()
    return status


def _alone(control: socket.socket) -> int:
    try:
        if not Session.from_env().driven:  # else bench.py holds it
            _hold()  # to the end of this process
    except UsageError as error:
        cell = Connection(control, control)
        with contextlib.suppress(OSError):
            cell.ask()
            cell.tell(Refused(reason=str(error)))
        return 1
    conductor = Conductor(control)
    conductor.serve(control)
    conductor.end()
    return 0


def _hold() -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            lock.hold()
            return
        except UsageError:
            if time.monotonic() > end:
                raise
        time.sleep(0.05)


def _listen(control: socket.socket, path: Path) -> int:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        try:
            listener.listen()
            control.sendall(b"ready\n")
            conductor = Conductor(control)
            while control not in (ready := select.select([control, listener], [], [])[0]):
                if listener in ready:
                    with listener.accept()[0] as connection:
                        conductor.serve(connection)
            conductor.end()
        finally:
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                path.parent.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
