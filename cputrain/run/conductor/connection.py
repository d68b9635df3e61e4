"""The conductor's end of a connection to a cell, which may be killed at any moment."""

from __future__ import annotations

import select
import socket

from cputrain.record import files
from cputrain.run.conductor import protocol

LINE = 1 << 24
"""Bytes of one request at most."""


class LeaseEnded(Exception):
    """The cell that leased the workers is gone, or whoever started the conductor."""


class Connection:
    """What one cell asks, and what it is told.

    A cell asks one thing at a time, so nothing waits in the reader's own buffer.

    Args:
        line: to the cell; whoever opened it closes it.
        owner: a connection whose end is that of whoever started the conductor.
    """

    def __init__(self, line: socket.socket, owner: socket.socket) -> None:
        self._line, self._owner = line, owner
        self._lines = line.makefile("rb")

    def ask(self) -> bytes | None:
        """The cell's next request; None at the end of its lease."""
        while self._line not in select.select([self._line, self._owner], [], [])[0]:
            if hung_up(self._owner):
                return None
        return self._lines.readline(LINE) or None

    def tell(self, reply: protocol.Reply) -> None:
        """Answer. Raises ConnectionError where nobody hears it."""
        self._line.sendall(files.encode(reply) + b"\n")

    def watch(self) -> None:
        """Raise LeaseEnded where nobody waits for the answer any more."""
        if hung_up(self._line):
            raise LeaseEnded

    def close(self) -> None:
        """Let go of it."""
        self._lines.close()


def hung_up(line: socket.socket) -> bool:
    """Whether the other end of a connection is closed, and all that it said was read."""
    if not select.select([line], [], [], 0)[0]:
        return False
    try:
        return not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
