"""Documents read line by line and tokenized, by the caller or by threads ahead of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from cputrain.data.corpus import DataError
from cputrain.data.lines import Lines

AHEAD = 64
"""Documents that may be tokenized before they are needed."""

T = TypeVar("T")


def attempt(path: Path, work: Callable[[], T]) -> T | DataError:
    """What `work` gives, or its failure in one line that names the file: threads hand that on."""
    try:
        return work()
    except DataError as error:
        return error
    except Exception as error:
        message = str(error).partition("\n")[0]
        return DataError(f"{path}: {type(error).__name__}: {message}")


class Documents:
    """The token ids of the lines in their order, epoch after epoch, whatever the threads.

    With `workers` = 0, `next` reads and tokenizes. Otherwise that many threads do, at most AHEAD
    documents before they are needed; a failure takes its document's place in the order.

    Args:
        lines: the texts; closed by `close`.
        encode: the ids of a text, its end included; called by several threads at a time.
        workers: threads.

    Attributes:
        lines, threads: the same, and the threads that were started.
    """

    def __init__(self, lines: Lines, encode: Callable[[str], np.ndarray], workers: int) -> None:
        self.lines = lines
        self._encode = encode
        # What threads share is changed and looked at under this lock only.
        self._changed = threading.Condition()
        self._done: dict[int, np.ndarray | DataError] = {}
        self._needed = 0
        self._closed = False
        self.threads = [
            threading.Thread(target=self._tokenize, name=f"tokenizer-{i}", daemon=True)
            for i in range(workers)
        ]
        for thread in self.threads:
            thread.start()

    def next(self) -> np.ndarray:
        """The ids of the next document [n], waited for. One thread may ask.

        Raises:
            DataError: the line is damaged or cannot be read, or the documents are closed.
        """
        if not self.threads:
            document = attempt(self.lines.path, self._read)
        else:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._needed in self._done)
                if self._closed:
                    raise DataError(f"{self.lines.path}: closed while it was read")
                document = self._done.pop(self._needed)
                self._needed += 1
                self._changed.notify_all()
        if isinstance(document, DataError):
            raise document
        return document

    def close(self) -> None:
        """End and join the threads, also those that wait, and have `next` fail."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self.threads:
            thread.join()
        self.lines.close()

    def _read(self) -> np.ndarray:
        return self._tokenized(*self.lines.next())

    def _tokenized(self, number: int, line: bytes) -> np.ndarray:
        return self._encode(self.lines.text(number, line))

    def _tokenize(self) -> None:
        """What a thread does. Reading takes turns, the rest goes on at the same time."""
        path = self.lines.path
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._closed or self.lines.count < self._needed + AHEAD
                )
                if self._closed:
                    return
                number = self.lines.count
                line = attempt(path, self.lines.next)
            document: np.ndarray | DataError
            if isinstance(line, DataError):
                document = line
            else:
                document = attempt(path, partial(self._tokenized, *line))
            with self._changed:
                self._done[number] = document
                self._changed.notify_all()
