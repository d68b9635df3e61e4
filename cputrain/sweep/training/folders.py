"""Where the runs of a machine lie, and the record in a run's folder."""

from __future__ import annotations

import re
from pathlib import Path

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.experiment.described import meant
from cputrain.record import files
from cputrain.record.trained import FILE, FOLDER, SCHEMA, TrainRecord

BEGUN_BY = {
    "train": "train --steps N",
    "finetune": "finetune --from RUN --method full --steps N",
}
"""The least of a command line that begins a run, by its verb."""
_OF_CELLS = re.compile(
    "([:;] delete it and run the cell again|: run the suite again, or delete it)$"
)
"""What the reader of records says is to be done: of a cell's."""


def folder_of(machine: str, name: str) -> Path:
    """Where a run lies."""
    return paths.output_folder(machine, "full") / FOLDER / name


def record_of(folder: Path, then: str) -> TrainRecord | None:
    """The record in a run's folder; None where there is none.

    Args:
        folder: of the run.
        then: what is to be done where it cannot be read.

    Raises:
        UsageError: it cannot be read.
    """
    path = folder / FILE
    try:
        return files.read(path, TrainRecord, SCHEMA)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; {then}") from error
    except files.RecordError as error:
        raise UsageError(f"{path}: {_OF_CELLS.sub('', str(error))}; {then}") from error


def others(folder: Path, file: str = FILE, verb: str = "train") -> str:
    """Where a folder's run lies, or which one with this file was meant; how one is begun, if none.

    Args:
        folder: where a run was looked for.
        file: that a run is to have.
        verb: that begins one.
    """
    for runs in sorted(paths.OUTPUT.glob(f"*/{FOLDER}")):
        there = runs / folder.name
        told = f"machine {runs.parent.name} has it"
        if file != FILE and (there / file).exists():
            return f"{told}: give {there} instead of its name"
        if runs != folder.parent and (there / FILE).exists():
            return f"{told}: move {there} to {folder} to go on with it here"
    known = sorted(path.parent.name for path in folder.parent.glob(f"*/{file}"))
    if not known:
        return f"there is none yet: python3 bench.py {BEGUN_BY[verb]} begins one"
    return meant(folder.name, known)
