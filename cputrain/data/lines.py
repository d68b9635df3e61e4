"""The corpus as a file of lines, for loaders that read while they train."""

from __future__ import annotations

import json
from pathlib import Path

from cputrain import atomic
from cputrain.data.corpus import Corpus, DataError


def kept(corpus: Corpus, root: Path) -> Path:
    """The JSON-lines file of the corpus under `root`, one row on each line; made once.

    Raises:
        DataError: it cannot be written.
    """
    path = root / f"corpus-{corpus.fingerprint[:12]}.jsonl"
    try:
        if not path.exists():
            atomic.write_text(path, "".join(json.dumps(row) + "\n" for row in corpus.rows))
    except OSError as error:
        raise DataError(f"{error.filename or path}: {error.strerror or error}") from error
    return path


class Lines:
    """The first `rows` lines of a JSON-lines file, over and over.

    Attributes:
        path: the file.
        rows: lines that are used.
        count: lines read so far.

    Raises:
        DataError: it cannot be opened.
    """

    def __init__(self, path: Path, rows: int) -> None:
        self.path = path
        self.count = 0
        self.rows = rows
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}") from error

    def next(self) -> tuple[int, bytes]:
        """The next line and its number, which counts on from epoch to epoch.

        One thread at a time may call this.
        """
        number = self.count
        self.count += 1
        if number % self.rows == 0:
            self._file.seek(0)
        return number, self._file.readline()

    def text(self, number: int, line: bytes) -> str:
        """The text on a line that `next` gave. Any thread may call this.

        Raises:
            DataError: the line is missing or holds something else.
        """
        try:
            text = json.loads(line)
        except ValueError:
            text = None
        if not isinstance(text, str):
            reason = f"line {number % self.rows + 1} is not a text in JSON"
            raise DataError(f"{self.path} is damaged: {reason}; delete it")
        return text

    def close(self) -> None:
        """Close the file."""
        self._file.close()
