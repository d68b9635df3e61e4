"""Writes rows as CSV and Parquet, and nothing outside the folder of results."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cputrain import wording
from cputrain.atomic import write_bytes
from cputrain.errors import RunError
from cputrain.results import asvfiles
from cputrain.results.columns import SCHEMA, Row
from cputrain.results.records import Problem

DIGITS = 6
"""Significant digits of a number in a CSV; Parquet has them all."""


def frame(rows: Sequence[Row], schema: Mapping[str, pl.DataType] = SCHEMA) -> pl.DataFrame:
    """Rows as a data frame with every column and its type, also where all of it is unknown.

    Text is made safe for a spreadsheet; a number that is none (NaN, infinity) is unknown.
    """
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return pl.DataFrame(plain, schema=schema, orient="row")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return wording.spreadsheet(value) if isinstance(value, str) else value


def without_records(root: Path, measured: Iterable[str]) -> list[Problem]:
    """Machines of which asv has results and there are no run records: they have no rows."""
    reason = "no run records of this machine under output/, so its results are in no table"
    return [
        Problem(root / "result" / "asv" / machine, reason)
        for machine in asvfiles.machines(root)
        if machine not in {*measured}
    ]


def not_links(result: Path, machines: Iterable[str]) -> tuple[list[str], list[Problem]]:
    """The machines whose folders below result/ are none that lead elsewhere, and the others."""
    safe: list[str] = []
    problems: list[Problem] = []
    for machine in sorted(machines):
        folders = (result / machine, result / machine / "plots")
        links = [folder for folder in folders if folder.is_symlink()]
        problems += [Problem(link, "a symbolic link, which is not written to") for link in links]
        safe += [] if links else [machine]
    return safe, problems


def spare(result: Path, rows: Sequence[Row], problems: Sequence[Problem]) -> None:
    """Leave good tables alone where there is no row to write and something could not be read.

    Raises:
        RunError: that is so.
    """
    if rows or not problems or not (result / "results.csv").exists():
        return
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    raise RunError(f"no run record can be used, the tables stay as they are: {problems[0]}{more}")


def write(result: Path, rows: Sequence[Row]) -> list[Path]:
    """Write result/<machine>/<suite>.csv, result/results.csv and result/results.parquet.

    Raises:
        OSError: a file cannot be written; it is as it was before.
    """
    whole = frame(rows)
    csv, parquet = result / "results.csv", result / "results.parquet"
    written = []
    for (machine, suite), part in whole.group_by("machine", "suite", maintain_order=True):
        path = result / str(machine) / f"{suite}.csv"
        write_bytes(path, as_csv(part))
        written.append(path)
    write_bytes(csv, as_csv(whole))
    buffer = io.BytesIO()
    whole.write_parquet(buffer)
    write_bytes(parquet, buffer.getvalue())
    return [*written, csv, parquet]


def as_csv(part: pl.DataFrame) -> bytes:
    """A table as CSV, numbers to `DIGITS` significant digits."""
    return part.with_columns(pl.col(pl.Float64).round_sig_figs(DIGITS)).write_csv().encode()
