"""Says how far the making of tokens has come, as that takes minutes where files are large."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

FIRST_S, EVERY_S = 3.0, 10.0
"""Seconds after which a first line is said, and between two others."""
MB = 1e6

Say = Callable[[str], None]


def silent(_: str) -> None:
    """Says nothing."""


class Making:
    """Counts the text of which tokens were made, and says so now and then.

    Args:
        files: whose sizes are said.
        say: takes a line.
        now: seconds of a clock that only grows.
    """

    def __init__(
        self, files: Sequence[str], say: Say, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._say, self._now = say, now
        self._size = sum(Path(file).stat().st_size for file in files)
        self._made = 0
        self._next_s = now() + FIRST_S

    def add(self, size: int) -> None:
        """Tokens were made of so many more bytes of text."""
        self._made += size
        if self._now() >= self._next_s:
            self._next_s = self._now() + EVERY_S
            self._say(
                f"making tokens, once: of {self._made / MB:.0f} MB of text so far; "
                f"the files have {self._size / MB:.0f} MB"
            )
