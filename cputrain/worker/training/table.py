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
    *("accuracy", "node_accuracy", "round_trip_ns", "at_once"),
)


@dataclass
class Row:
    """One step; numbers are written so that they read back.

    Attributes:
        at: its end, ISO 8601, UTC.
        round_trip_ns, at_once: where two CPUs were after it (`machine.round_trip`,
            `machine.one_core`): at the end of a window of the watch, on a virtual machine.
    """

    step: int
    loss: float
    learning_rate: float
    step_s: float
    tokens_per_s: float
    mfu: float | None
    validation_loss: float | None = None
    at: str = ""
    accuracy: float | None = None
    node_accuracy: float | None = None
    round_trip_ns: float | None = None
    at_once: float | None = None

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
        training_s: seconds of all steps in it; added_s: of those that were added here.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, done: int) -> None:
        rows = kept(path, done)
        self.training_s = seconds(rows)
        text = "".join(f"{','.join(row)}\n" for row in (COLUMNS, *rows))
        atomic.write_text(path, text)
        self.added_s = 0.0
        self._file = path.open("a", encoding="utf-8")
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        """One more step."""
        self._rows.append(row)
        self.training_s += row.step_s
        self.added_s += row.step_s

    def flush(self, is_synced: bool = False) -> None:
        """Write what was added; where that is asked, wait until the disk has it."""
        self._file.writelines(f"{','.join(row.words())}\n" for row in self._rows)
        self._file.flush()
        self._rows.clear()
        if is_synced:
            os.fsync(self._file.fileno())


def kept(path: Path, done: int) -> list[list[str]]:
    """The rows of a table up to the step that is `done`; none where there is no file."""
    return [row for row in _read(path) if int(row[0]) <= done]


def seconds(rows: list[list[str]]) -> float:
    """Of all steps in these rows."""
    place = COLUMNS.index("step_s")
    return math.fsum(float(row[place]) for row in rows)


def _read(path: Path) -> list[list[str]]:
    """Its whole rows, in the order of `COLUMNS`; none where there is no file.

    Columns that an earlier version did not write are empty.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1]
    head, *rows = list(csv.reader(whole.splitlines())) or [[]]
    named = [dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)]
    kept = [row for row in named if row.get("step", "").isdecimal()]
    return [[row.get(name, "") for name in COLUMNS] for row in kept]
