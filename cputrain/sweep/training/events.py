"""TensorBoard's event files of a run, written from its table of steps by bench.py's process.

The measured process has nothing to do with them. At each start they are written anew from the
table, which has lost the steps of a killed stretch by then, so that no step stands twice.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import importlib
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.record.trained import PROGRESS

TAGS = {
    "loss": "loss/training",
    "validation_loss": "loss/validation",
    "learning_rate": "learning_rate",
    "step_s": "speed/step_s",
    "tokens_per_s": "speed/tokens_per_s",
    "mfu": "speed/mfu",
    "accuracy": "accuracy/masked_tokens",
    "node_accuracy": "accuracy/masked_nodes",
}
"""Column of the table -> name of the curve."""
FILES = "events.out.tfevents.*"
MODULES = ("tensorboard.compat.proto.event_pb2", "tensorboard.summary.writer.record_writer")
"""What writes them."""
VERSION = "brain.Event:2"
"""What an event file begins with."""


def require() -> None:
    """Raise UsageError where the package that writes them cannot be imported."""
    try:
        for name in MODULES:
            importlib.import_module(name)
    except ImportError as error:
        package = f"{paths.PROJECT}[tensorboard]"
        command = shlex.join([sys.executable, "-m", "pip", "install", "--editable", package])
        raise UsageError(f"--tensorboard: {error}; this installs it: {command}") from error


class EventFiles:
    """The event files in a run's folder; begun with the first row that is taken.

    Args:
        folder: of the run.
        is_wanted: nothing is written otherwise.
        say: told why no more can be written.
    """

    def __init__(self, folder: Path, is_wanted: bool, say: Callable[[str], None]) -> None:
        self._folder, self._is_on, self._say = folder, is_wanted, say
        self._records: Any = None
        self._file: IO[bytes] | None = None
        self._table: IO[bytes] | None = None
        self._columns: list[str] = []

    def follow(self) -> None:
        """Write the rows that have come since; a failure leaves the run alone."""
        if not self._is_on:
            return
        try:
            if self._file is None:
                self._file = self._begin()
            for line in self._lines():
                row = dict(zip(self._columns, line, strict=True))
                self._records.write(_event(row).SerializeToString())
            self._file.flush()
        except OSError as error:
            self._is_on = False
            why = error.strerror or error
            self._say(f"TensorBoard's files: {why}; no more is written, the run goes on")

    def close(self) -> None:
        """Write what is left, and end them."""
        if self._table is not None:
            self.follow()
            self._table.close()
        if self._file is not None:
            with contextlib.suppress(OSError):  # of what it could not write, as was said
                self._file.close()

    @property
    def names(self) -> list[str]:
        """Their names."""
        return sorted(path.name for path in self._folder.glob(FILES)) if self._file else []

    def _begin(self) -> IO[bytes]:
        """Begin a file, in the place of those of earlier stretches."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._table = (self._folder / PROGRESS).open("rb")
        self._columns = self._table.readline().decode().rstrip("\n").split(",")
        for path in self._folder.glob(FILES):
            path.unlink()
        now = time.time()
        file = (self._folder / f"{FILES.removesuffix('*')}{now:.0f}.cputrain").open("wb")
        self._records = RecordWriter(file)
        # The start has a TensorBoard that shows the run forget what it has read of it.
        start = Event(wall_time=now, step=0, session_log=SessionLog(status=SessionLog.START))
        for event in (Event(wall_time=now, file_version=VERSION), start):
            self._records.write(event.SerializeToString())
        return file

    def _lines(self) -> list[list[str]]:
        """The whole lines that have come since."""
        assert self._table is not None
        start = self._table.tell()
        data = self._table.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._table.seek(start + len(whole))
        return list(csv.reader(whole.decode().splitlines()))


def _event(row: dict[str, str]) -> Any:
    """One step as TensorBoard has it."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    values = [
        Summary.Value(tag=tag, simple_value=float(row[column]))
        for column, tag in TAGS.items()
        if row[column]
    ]
    wall_time = datetime.datetime.fromisoformat(row["at"]).timestamp()
    return Event(wall_time=wall_time, step=int(row["step"]), summary=Summary(value=values))
