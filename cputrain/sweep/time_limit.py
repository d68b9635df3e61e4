"""A limit to how long a step may compute."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from cputrain.errors import UsageError


class _Over(Exception):
    pass


@contextmanager
def within(seconds: float, message: str) -> Iterator[None]:
    """End what runs inside after so many seconds; also a match of a regular expression.

    Raises:
        UsageError: it took longer; it says `message`.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise _Over

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _Over:
        raise UsageError(message) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
