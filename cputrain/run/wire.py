"""What a worker answers and what it prints, read as it comes. Standard library only."""

from __future__ import annotations

import os
import selectors
from typing import IO

KEPT = 4000
"""Bytes of the end of what it prints."""


class Wire:
    """Reads both without waiting for either.

    Args:
        answers: the descriptor that it answers on.
        printed: its standard output and error.
    """

    def __init__(self, answers: IO[bytes], printed: IO[bytes]) -> None:
        self._streams = {"answers": answers, "printed": printed}
        self._kept = dict.fromkeys(self._streams, b"")
        self._selector = selectors.DefaultSelector()
        for name, stream in self._streams.items():
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, name)

    def read(self, patience_s: float) -> None:
        """Take what is there, or the first that comes in the next seconds."""
        for key, _ in self._selector.select(patience_s):
            try:
                data = os.read(key.fd, 1 << 16)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
            self._kept[key.data] += data
        self._kept["printed"] = self._kept["printed"][-KEPT:]

    @property
    def has_line(self) -> bool:
        """Whether there is a whole line of answers."""
        return b"\n" in self._kept["answers"]

    def line(self) -> bytes | None:
        """The next answer, which is taken; None where there is no whole line yet."""
        if not self.has_line:
            return None
        line, self._kept["answers"] = self._kept["answers"].split(b"\n", 1)
        return line

    @property
    def printed(self) -> str:
        """The end of what it printed."""
        return self._kept["printed"].decode(errors="replace")

    def close(self) -> None:
        """Let go of both. Safe to call again."""
        self._selector.close()
        for stream in self._streams.values():
            stream.close()
