"""Writes rows as CSV and Parquet, and nothing outside the folder of results."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cputrain import wording
from cputrain.atomic import write_bytes, write_made
from cputrain.errors import RunError
from cputrain.results import asvfiles
from cputrain.results.columns import SCHEMA, Row
from cputrain.results.records import Problem

CSV, PARQUET = "results.csv", "results.parquet"
MOST_JOINED = 20
"""Machines whose rows are written into one table."""
DIGITS = 6
"""Significant digits of a number in a CSV; Parquet has them all."""


def frame(rows: Sequence[Row], schema: Mapping[str, pl.DataType] = SCHEMA) -> pl.DataFrame:
    """Rows as a data frame with every column and its type, also where all of it is unknown.

    Text is made safe for a spreadsheet; a number that is none (NaN, infinity) is unknown.
    """
    columns = {name: _plain([row.get(name) for row in rows], schema[name]) for name in schema}
    return pl.DataFrame(columns, schema=schema)


def _plain(values: list[Any], kind: pl.DataType) -> list[Any]:
    """A column's values as its table has them."""
    if kind == pl.Float64():
        return [value if value is None or math.isfinite(value) else None for value in values]
    if kind == pl.String():
        return [value if value is None else wording.spreadsheet(value) for value in values]
    return values


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


def spare(result: Path, rows: int, problems: Sequence[Problem]) -> None:
    """Leave good tables alone where there is no row to write and something could not be read.

    Raises:
        RunError: that is so.
    """
    if rows or not problems or not (result / CSV).exists():
        return
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    raise RunError(f"no run record can be used, the tables stay as they are: {problems[0]}{more}")


def write_machine(result: Path, machine: str, rows: Sequence[Row]) -> list[Path]:
    """Write a machine's tables: result/<machine>/results.parquet, <suite>.csv; the paths.

    Raises:
        OSError: a file cannot be written; it is as it was before.
    """
    whole, folder = frame(rows), result / machine
    buffer = io.BytesIO()
    whole.write_parquet(buffer)
    written = {folder / PARQUET: buffer.getvalue()}
    by_suite: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        by_suite.setdefault(row["suite"], []).append(place)
    # Rounded at once, and cut: to take rows out suite by suite is what takes long.
    shown, start = _rounded(whole[list(itertools.chain(*by_suite.values()))]), 0
    for suite, places in by_suite.items():
        part = shown.slice(start, len(places))
        written[folder / f"{suite}.csv"] = part.write_csv().encode()
        start += len(places)
    for path, data in written.items():
        write_made(path, data)
    return list(written)


def read_machine(result: Path, machine: str) -> pl.DataFrame:
    """The rows that `write_machine` has written of a machine."""
    return pl.read_parquet(result / machine / PARQUET, glob=False)  # a name may have brackets


def join(result: Path, machines: Sequence[str]) -> list[Path]:
    """Write the rows of all machines into one table: result/results.csv and results.parquet.

    Of more than `MOST_JOINED` machines there is none: 300 000 rows of 156 columns are 300 MB of
    CSV, to write anew after each change. Their own results.parquet are read as one then:
    `polars.scan_parquet("result/*/results.parquet")`. Joined tables of fewer machines are deleted,
    as they would lack some.

    Returns:
        The paths that were written.

    Raises:
        OSError: a file cannot be written; it is as it was before.
    """
    csv, parquet = result / CSV, result / PARQUET
    if len(machines) > MOST_JOINED:
        csv.unlink(missing_ok=True)
        parquet.unlink(missing_ok=True)
        return []
    whole = pl.concat([frame([]), *(read_machine(result, machine) for machine in machines)])
    write_bytes(csv, as_csv(whole))
    buffer = io.BytesIO()
    whole.write_parquet(buffer)
    write_bytes(parquet, buffer.getvalue())
    return [csv, parquet]


def as_csv(part: pl.DataFrame) -> bytes:
    """A table as CSV, numbers to `DIGITS` significant digits."""
    return _rounded(part).write_csv().encode()


def _rounded(part: pl.DataFrame) -> pl.DataFrame:
    return part.with_columns(pl.col(pl.Float64).round_sig_figs(DIGITS))
