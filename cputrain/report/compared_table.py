"""The long table of a comparison: a row for each experiment that two machines have a number of."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from cputrain.analysis.ends import CellRow
from cputrain.analysis.machines.equal import Equal
from cputrain.atomic import write_made
from cputrain.report.compared import Comparison
from cputrain.results import tables
from cputrain.results.columns import Row

OWN: dict[str, pl.DataType] = {
    "mode": pl.String(),
    "step_s": pl.Float64(),
    **dict.fromkeys(("effect", "effect_low", "effect_high"), pl.Float64()),
    **dict.fromkeys(("verdict", "torch", "jax", "commit", "started"), pl.String()),
}
"""Columns of a cell that are there for both machines; those of the other one begin with beside_."""
BESIDE = "beside_"
SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("machine", "beside", "suite", "value", "engine", "identity"), pl.String()),
    **dict.fromkeys(("raw_ratio", "usual_ratio"), pl.Float64()),
    "counts_once": pl.Boolean(),
    **dict.fromkeys(("suite_ratio", "suite_low", "suite_high"), pl.Float64()),
    **OWN,
    **{f"{BESIDE}{name}": kind for name, kind in OWN.items()},
}
"""Column -> type; docs/machines.md says what each is. raw_ratio: step_s over beside_step_s, with
all drift; usual_ratio: the same at each machine's usual speed, None where one of them has no pairs;
suite_ratio: with its 99 % interval, the mean over the suite's rows with counts_once, of each
machine's time at its usual speed, as it was measured where it has no pairs."""


def rows(comparison: Comparison) -> list[Row]:
    """A row for each equal experiment."""
    by_suite = {(line.suite, line.engine): line for line in comparison.suites}
    made = []
    for pair in comparison.equal:
        line = None if pair.is_first_step else by_suite.get((pair.suite, pair.engine))
        (cell, _), (beside, _) = pair.first, pair.other
        row: Row = {
            "machine": comparison.first.name,
            "beside": comparison.other.name,
            "suite": pair.suite,
            "value": pair.value,
            "engine": pair.engine,
            "identity": pair.identity,
            "raw_ratio": (cell.step_s or 0.0) / (beside.step_s or 1.0),
            "usual_ratio": _usual(comparison, pair),
            "counts_once": pair.counts,
        }
        if line is not None:
            row |= {"suite_ratio": line.value, "suite_low": line.low, "suite_high": line.high}
        made.append(row | _of(pair.first, "") | _of(pair.other, BESIDE))
    return made


def write(folder: Path, stem: str, comparisons: Sequence[Comparison]) -> list[Path]:
    """Write it as CSV and as Parquet; the paths.

    Raises:
        OSError: a file cannot be written.
    """
    table = tables.frame([row for its in comparisons for row in rows(its)], SCHEMA)
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    written = {f"{stem}.csv": tables.as_csv(table), f"{stem}.parquet": buffer.getvalue()}
    for name, data in written.items():
        write_made(folder / name, data)
    return [folder / name for name in written]


def _usual(comparison: Comparison, pair: Equal) -> float | None:
    first = comparison.first.references.usual(*pair.first)
    other = comparison.other.references.usual(*pair.other)
    return None if first is None or other is None else math.exp(first.log_s - other.log_s)


def _of(pair: CellRow, prefix: str) -> Row:
    return {f"{prefix}{name}": pair[1][name] for name in OWN}
