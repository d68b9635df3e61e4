"""How fast the steps of a run of `train` were, every few seconds, by its table of steps."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cputrain.record import files
from cputrain.results.trained import LARGEST_TABLE

EVERY_S = 5
"""Seconds of a moment, by the clock, or one step where that takes longer."""
STEPS = 5
"""Of a moment, spread over it: a moment of a sweep is of as many pairs of blocks."""
COLUMNS = {"step_s": pl.Float64, "at": pl.String}
PLACES = {"round_trip_ns": pl.Float64, "at_once": pl.Float64}
"""Columns that earlier versions did not write."""


@dataclass(frozen=True)
class StepMoment:
    """Some steps in a row.

    Attributes:
        at_s: when the first of them ended, seconds since 1970.
        step_s: the median of `STEPS` of them.
        round_trip_ns, at_once: where two CPUs were meanwhile; None where no step tells.
    """

    at_s: float
    step_s: float
    round_trip_ns: float | None
    at_once: float | None


def read(path: Path) -> list[StepMoment]:
    """The moments of a table of steps, in their order; of a table that has no times, none.

    Raises:
        OSError, ValueError, pl.exceptions.PolarsError: it cannot be read, or is none.
    """
    data = files.read_bytes(path, LARGEST_TABLE)
    whole = data[: data.rfind(b"\n") + 1]
    head = whole.partition(b"\n")[0].decode(errors="replace").split(",")
    if not set(COLUMNS) <= set(head):
        return []
    schema = COLUMNS | {name: kind for name, kind in PLACES.items() if name in head}
    table = pl.read_csv(io.BytesIO(whole), columns=[*schema], schema_overrides=schema)
    seconds = table["step_s"]
    are_seconds = (seconds.is_finite() & (seconds > 0)).fill_null(False).all()
    if table["at"].null_count() or not are_seconds:
        raise ValueError("a row without its time, or the seconds of its step")
    return [StepMoment(*row) for row in _moments(table).iter_rows()]


def _moments(table: pl.DataFrame) -> pl.DataFrame:
    missing = {n: pl.lit(None, kind) for n, kind in PLACES.items() if n not in table.columns}
    at = pl.col("at").str.to_datetime("%Y-%m-%dT%H:%M:%S%z").dt.epoch("s")
    steps = table.with_columns(**missing, at_s=at, moment=at // EVERY_S)
    number, many = pl.int_range(pl.len()).over("moment"), pl.len().over("moment")
    is_taken = number % (many // STEPS).clip(1) == 0
    taken = pl.when(is_taken).then("step_s")
    return (
        steps.with_columns(taken=taken)
        .group_by("moment", maintain_order=True)
        .agg(
            pl.col("at_s").first().cast(pl.Float64),
            pl.col("taken").median(),
            pl.col("round_trip_ns").median(),
            pl.col("at_once").median(),
        )
        .drop("moment")
    )
