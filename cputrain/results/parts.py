"""Reads the records of steps that were watched part by part: output/<machine>/parts/."""

from __future__ import annotations

from pathlib import Path

from cputrain.engines import recorded
from cputrain.engines.specs import FIRST
from cputrain.paths import cell_name
from cputrain.record import files
from cputrain.record.parts import FILE, SCHEMA, SUITE, PartsRecord
from cputrain.results import stored
from cputrain.results.records import RESERVED, Problem, folders
from cputrain.results.stored import RecordPlace


def read(root: Path, machine: str) -> tuple[list[PartsRecord], list[Problem]]:
    """Every record of a machine, shape by shape, and a line for each that cannot be used."""
    records: list[PartsRecord] = []
    problems: list[Problem] = []
    for place in stored.find(root, machine, FILE):
        if place.suite != SUITE:
            continue
        record = read_place(place, machine)
        if isinstance(record, Problem):
            problems.append(record)
        elif record is not None:
            records.append(record)
    return sorted(records, key=lambda r: (r.shape, r.engine != FIRST, r.engine)), problems


def read_file(path: Path, machine: str) -> PartsRecord | Problem | None:
    """`read_place` of a file of its own."""
    return read_place(RecordPlace(path), machine)


def read_place(place: RecordPlace, machine: str) -> PartsRecord | Problem | None:
    """One record; None where there is none."""
    again = "delete it and run python3 bench.py parts again"
    try:
        record = place.read(PartsRecord, SCHEMA)
        recorded.require_readable([record.worker])
    except FileNotFoundError:
        return None
    except OSError as error:
        return place.problem(f"cannot be read: {error.strerror}")
    except files.RecordError as error:
        again = "run python3 bench.py parts again"
        return place.problem(str(error).replace("run the cell again", again))
    named = [(record.worker.machine, machine)]
    named.append((cell_name((record.shape, record.engine)), place.cell))
    for inside, outside in named:
        if inside != outside:
            reason = f"it is of {inside[:60]!r} and lies under {outside!r}; {again}"
            return place.problem(reason)
    return record


def machines(root: Path) -> list[str]:
    """The machines that have such records in files of their own."""
    return [
        name
        for name in folders(root / "output")
        if name not in RESERVED and any(folders(root / "output" / name / SUITE))
    ]
