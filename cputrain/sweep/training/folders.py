"""Where the runs of a machine lie, and the record in a run's folder."""

from __future__ import annotations

from pathlib import Path

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.record import files
from cputrain.record.trained import FILE, FOLDER, SCHEMA, TrainRecord


def folder_of(machine: str, name: str) -> Path:
    """Where a run lies."""
    return paths.output_folder(machine, "full") / FOLDER / name


def record_of(folder: Path) -> TrainRecord | None:
    """The record in a run's folder; None where there is no run.

    Raises:
        UsageError: it cannot be read.
    """
    path = folder / FILE
    try:
        return files.read(path, TrainRecord, SCHEMA)
    except FileNotFoundError:
        return None
    except (OSError, files.RecordError) as error:
        raise UsageError(f"{path}: {error}; or take another name: --out NAME") from error
