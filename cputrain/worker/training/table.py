"""progress.csv: a row for every step, on disk before the checkpoint of that step."""

from __future__ import annotations

import csv
import datetime
import math
import os
from dataclasses import dataclass
from pathlib import Path

from cputrain import atomic

COLUMNS = (
    *("step", "loss", "validation_loss", "learning_rate", "step_s", "tokens_per_s", "mfu", "at"),
)


@dataclass
class Row:
    """One step; `at` is its end, ISO 8601, UTC. Numbers are written so that they read back."""

    step: int
    loss: float
    learning_rate: float
    step_s: float
    tokens_per_s: float
    mfu: float | None
    validation_loss: float | None = None
    at: str = ""

    def __post_init__(self) -> None:
        self.at = self.at or datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")

    def words(self) -> list[str]:
        """In the order of `COLUMNS`."""
        values = (getattr(self, name) for name in COLUMNS)
        return ["" if value is None else str(value) for value in values]


class Table:
    """The table of a run, gone on with.

    Args:
        path: of the file.
        done: steps that are kept; rows of later ones, of a stretch that was killed, are dropped.

    Attributes:
        training_s: seconds of all steps in it.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, done: int) -> None:
        kept = [row for row in _read(path) if int(row[0]) <= done]
        place = COLUMNS.index("step_s")
        self.training_s = math.fsum(float(row[place]) for row in kept)
        text = "".join(f"{','.join(row)}\n" for row in (COLUMNS, *kept))
        atomic.write_text(path, text)
        self._file = path.open("a", encoding="utf-8")
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        """One more step."""
        self._rows.append(row)
        self.training_s += row.step_s

    def flush(self, is_synced: bool = False) -> None:
        """Write what was added; where that is asked, wait until the disk has it."""
        self._file.writelines(f"{','.join(row.words())}\n" for row in self._rows)
        self._file.flush()
        self._rows.clear()
        if is_synced:
            os.fsync(self._file.fileno())


def _read(path: Path) -> list[list[str]]:
    """Its whole rows; none where there is no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1]
    rows = list(csv.reader(whole.splitlines()))[1:]
    return [row for row in rows if len(row) == len(COLUMNS) and row[0].isdecimal()]
