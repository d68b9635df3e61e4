"""The time that a worker has: its clock stands still between its turns."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator


class Deadline:
    """Seconds that a worker may run; it is its turn from now on.

    Args:
        seconds: in all.

    Attributes:
        left_s: what is left of them, as of the beginning of this turn.
        given_s: what it was given: of a worker that ran out of time, so long it took.
    """

    def __init__(self, seconds: float) -> None:
        self.left_s = self.given_s = self._whole_s = seconds
        self._turn_since = time.monotonic()

    def begin_turn(self) -> None:
        """The clock runs."""
        self._turn_since = time.monotonic()

    def end_turn(self) -> None:
        """The clock stands still."""
        self.left_s -= time.monotonic() - self._turn_since

    @property
    def is_over(self) -> bool:
        """Whether this turn has taken all that was left."""
        return time.monotonic() - self._turn_since > self.left_s

    def renew(self) -> None:
        """Give all of it again."""
        self.left_s = self._whole_s

    @contextlib.contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Give only so many of the seconds that are left for what is done here; None is all.

        After an error the rest is not given back: the worker is gone then.
        """
        spared = 0.0 if seconds is None else max(0.0, self.left_s - seconds)
        self.left_s, self.given_s = self.left_s - spared, self.given_s - spared
        yield
        self.left_s, self.given_s = self.left_s + spared, self.given_s + spared
