"""A conductor in a thread of this process, so that it sees what a test changes here."""

import socket
import threading
from typing import ClassVar

from cputrain.run import forking, fresh
from cputrain.run.conductor.client import Lease
from cputrain.run.conductor.server import Conductor


def lie(monkeypatch, environment):
    """Have workers that this process starts or forks get another environment than asked.

    Args:
        environment: in the place of `placement.environment`.
    """
    for module in (fresh, forking):
        monkeypatch.setattr(module, "environment", environment)


class LeaseHere(Lease):
    """As a lease from a conductor of its own, which is no process.

    Attributes:
        made: those that a test has to close, as a cell that was not finished keeps its own open.
    """

    made: ClassVar[list] = []

    def __init__(self):
        self.made.append(self)
        self._own = None
        self._socket, theirs = socket.socketpair()
        self._lines = self._socket.makefile("rb")
        self._thread = threading.Thread(target=self._serve, args=(theirs,), daemon=True)
        self._thread.start()

    def _serve(self, theirs):
        with theirs:
            conductor = Conductor(theirs)
            conductor.serve(theirs)
            conductor.end()

    def close(self):
        super().close()
        self._thread.join()
