"""The table of a run of engines side by side: its columns, written and read again."""

from __future__ import annotations

import math
import os
import typing
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from cputrain import paths
from cputrain.atomic import write_bytes
from cputrain.record import files
from cputrain.record.part import Status
from cputrain.results import columns, tables
from cputrain.results.columns import Row
from cputrain.results.records import RESERVED, Problem, folders

RATIO = ("over_torch", "over_torch_low", "over_torch_high")

SAID = ("verdict", "further_passes", "doubt", "passes", "pairs", "dropped_pairs")
"""Of these pairs, as in `columns.PAIRED`; tables of before engines were paired have none."""

PAIRED: dict[str, pl.DataType] = {
    **dict.fromkeys(RATIO, pl.Float64()),
    **{name: columns.PAIRED[name] for name in SAID},
}
"""What comes from blocks beside torch's: the ratio with its 99 % interval, and what is said of it;
of torch itself, which is beside another worker of the same, nothing is said."""

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("machine", "suite", "value"), pl.String()),
    "compute_threads": pl.Int64(),
    **PAIRED,
    "seed": pl.Int64(),
    "order": pl.String(),
    **{
        name: kind
        for name, kind in columns.SCHEMA.items()
        if name not in columns.PAIRED  # of a suite's cells; `PAIRED` is in their place
    },
}
"""Column -> type: those of every table, and the run's own."""

NEEDED = (
    *("machine", "suite", "value", "compute_threads", "status", "reason", "mode", "workers"),
    *("step_s", *RATIO, "first_step_s", "import_s", "peak_rss_bytes", "gflop_per_s", "mfu"),
    *("tokens_per_s", "seed", "started", "commit"),
)
"""Columns that the page takes; a table of another version may lack others."""


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write the table.

    Raises:
        OSError: it cannot be written, and is as it was before.
    """
    write_bytes(path, tables.as_csv(tables.frame(rows, SCHEMA)))


def read(result: Path, machine: str) -> tuple[list[Row], list[Problem]]:
    """The rows of a machine's last full run, else of its last quick one; none without either."""
    problems: list[Problem] = []
    for name in paths.ENGINES.values():
        path = result / machine / name
        if os.path.lexists(path):
            rows = read_file(path)
            if not isinstance(rows, Problem):
                return rows, problems
            problems.append(rows)
    return [], problems


def machines(result: Path) -> list[str]:
    """The machines that have one."""
    return [
        machine
        for machine in folders(result)
        if machine not in RESERVED
        and any(os.path.lexists(result / machine / name) for name in paths.ENGINES.values())
    ]


def read_file(path: Path) -> list[Row] | Problem:
    """A table's rows, checked as far as they are used."""
    try:
        data = files.read_bytes(path)
    except (OSError, ValueError) as error:
        return _problem(path, error)
    return read_text(data, path)


def read_text(data: bytes, path: Path) -> list[Row] | Problem:
    """`read_file` of a file's content; `path` is where a problem says that it lies."""
    try:
        if not data.endswith(b"\n"):
            raise ValueError("it is cut off")
        table = pl.read_csv(data, schema_overrides=SCHEMA)
        if missing := [name for name in NEEDED if name not in table.columns]:
            raise ValueError(f"no column {missing[0]}")
        if table.is_empty():
            raise ValueError("no rows")
        rows = [row | dict.fromkeys(set(SAID) - set(row)) for row in table.to_dicts()]
        for row in rows:
            _check(row)
    except (pl.exceptions.PolarsError, ValueError, TypeError) as error:
        return _problem(path, error)
    return rows


def _problem(path: Path, error: Exception) -> Problem:
    message = str(error).strip().split("\n")[0]
    return Problem(path, f"not a table of engines ({message}); run python3 bench.py engines again")


def _check(row: Row) -> None:
    """Raises ValueError where a row cannot be shown."""
    if row["status"] not in typing.get_args(Status) or None in (row["suite"], row["value"]):
        raise ValueError(f"status {row['status']!r}")
    for name in NEEDED:
        if SCHEMA[name] == pl.Float64() and row[name] is not None and not 0 < row[name] < math.inf:
            raise ValueError(f"{name} = {row[name]}")
    if row["status"] == "ok" and None in (row["step_s"], row["compute_threads"]):
        raise ValueError("a row that is ok without a step time")
