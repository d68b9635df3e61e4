"""SIGTERM and SIGINT, which have a run saved and ended after the step in progress.

Before the first step, opening data may take minutes (tokens of large files are made then), and
there is nothing to save: that they break off.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


class Stopped(BaseException):
    """What a run was doing was broken off. No `Exception`: nobody shall go on in another way."""


class Stoppable:
    """A run, asked to stop.

    Attributes:
        stopping: whether it is to save and end.
    """

    stopping = False
    _breaks_off = False

    def stop(self) -> None:
        """Have it save and end. Raises Stopped where what it does now is broken off."""
        self.stopping = True
        if self._breaks_off:
            self._breaks_off = False  # a second signal shall not break off what clears up
            raise Stopped

    @contextlib.contextmanager
    def breaking_off(self) -> Iterator[None]:
        """What is done here is broken off where the run is to stop, by Stopped."""
        self._breaks_off = True
        try:
            if self.stopping:
                self.stop()
            yield
        finally:
            self._breaks_off = False


class Signals:
    """They are noted from now on, and end nothing by themselves.

    Attributes:
        came: whether there was one.
    """

    def __init__(self) -> None:
        self.came = False
        self._run: Stoppable | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, number: int, _: object) -> None:
        self.came = True
        if self._run is not None:
            self._run.stop()

    def tell(self, run: Stoppable) -> None:
        """Have a run know of them, also of those that came before."""
        self._run = run
        if self.came:
            run.stop()
