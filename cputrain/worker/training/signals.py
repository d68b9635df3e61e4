"""SIGTERM and SIGINT, which have a run saved and ended after the step in progress."""

from __future__ import annotations

import signal
from typing import Protocol


class Stoppable(Protocol):
    """A run: `stopping` has it save and end."""

    stopping: bool


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
            self._run.stopping = True

    def tell(self, run: Stoppable) -> None:
        """Have a run know of them, also of those that came before."""
        self._run = run
        run.stopping = self.came
