"""Reads the runs of `train`: output/<machine>/train/<name>/, each record with its steps."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cputrain.engines import recorded
from cputrain.engines.specs import FIRST
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.trained import FILE, FOLDER, PROGRESS, SCHEMA, TrainRecord
from cputrain.results import stored
from cputrain.results.problem import Problem
from cputrain.results.records import RESERVED
from cputrain.results.stored import RecordPlace, folders

SAMPLES = "samples.txt"
"""Texts that a run has written."""
LARGEST_TABLE = 2**30
"""Bytes of a table of steps that is read: about 10 million steps."""
LARGEST_SAMPLES = 2**20
NEEDED = {"step": pl.Int64, "validation_loss": pl.Float64, "step_s": pl.Float64}


@dataclass(frozen=True)
class EvaluationRow:
    """A validation loss: after which step, and after how many seconds in steps."""

    step: int
    seconds: float
    loss: float


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        evaluations: in the order of steps; empty where its table of steps is not there.
        steps: that are done; training_s: seconds that they took.
        samples: what its model has written; empty where it keeps none.
    """

    record: TrainRecord
    evaluations: tuple[EvaluationRow, ...] = ()
    steps: int = 0
    training_s: float = 0.0
    samples: str = ""

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.record.name

    @property
    def experiment(self) -> Experiment:
        """What it trains."""
        return Experiment.from_json(self.record.worker.experiment)

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self.experiment.runtime.engine or FIRST

    @property
    def best(self) -> EvaluationRow | None:
        """The first lowest validation loss."""
        return min(self.evaluations, key=lambda its: its.loss, default=None)

    @property
    def wall_s(self) -> float:
        """Seconds of all its stretches, with start and all that is between steps."""
        return sum(stretch.wall_s for stretch in self.record.stretches)


def machines(root: Path) -> list[str]:
    """The machines that have runs."""
    return [
        name
        for name in folders(root / "output")
        if name not in RESERVED and any(folders(root / "output" / name / FOLDER))
    ]


def read(root: Path, machine: str) -> tuple[list[Run], list[Problem]]:
    """Every run of a machine, the newest first, and a line for each that cannot be used."""
    runs, problems = [], []
    for place in stored.find(root, machine, FILE):
        if place.suite != FOLDER:
            continue
        run = _run(place, machine)
        if isinstance(run, Problem):
            problems.append(run)
            continue
        runs.append(run[0])
        problems += run[1]
    return sorted(runs, key=_started, reverse=True), problems


def records(root: Path, machine: str) -> list[tuple[TrainRecord, Path]]:
    """The record of every run of a machine, and its table of steps; none that cannot be read."""
    runs = []
    for place in stored.find(root, machine, FILE):
        record = _record(place, machine) if place.suite == FOLDER else None
        if isinstance(record, TrainRecord):
            runs.append((record, place.path.with_name(PROGRESS)))
    return runs


def _started(run: Run) -> str:
    return run.record.worker.started


def _record(place: RecordPlace, machine: str) -> TrainRecord | Problem:
    """A run's record; or why it is none."""
    try:
        record = place.read(TrainRecord, SCHEMA)
        recorded.require_readable([record.worker])
    except OSError as error:
        return place.problem(f"cannot be read: {error.strerror}")
    except files.RecordError as error:
        return place.problem(str(error).replace("run the cell again", "train again"))
    for inside, outside in ((record.worker.machine, machine), (record.name, place.cell)):
        if inside != outside:
            its = f"it is of {inside[:60]!r} and lies under {outside!r}"
            return place.problem(f"{its}: train --resume goes on with it here, or move it back")
    return record


def _run(place: RecordPlace, machine: str) -> tuple[Run, list[Problem]] | Problem:
    """A run, with what of its other files cannot be used; or why it is none."""
    record = _record(place, machine)
    if isinstance(record, Problem):
        return record
    samples = _samples(place.path.with_name(SAMPLES))
    text, unread = (samples, []) if isinstance(samples, str) else ("", [samples])
    last = record.stretches[-1].last if record.stretches else 0
    ended_s = record.ended.training_s if record.ended else 0.0
    run = Run(record, (), last, ended_s, text)
    path = place.path.with_name(PROGRESS)
    try:
        table = _table(files.read_bytes(path, LARGEST_TABLE))
    except FileNotFoundError:
        return run, unread
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        why = str(error).partition("\n")[0][:200]
        reason = f"no table of steps ({why}); its run has no curve: delete it"
        return run, [*unread, Problem(path, reason)]
    if not table.height:
        return run, unread
    seen = table.filter(pl.col("validation_loss").is_finite())
    columns = (seen["step"], seen["seconds"], seen["validation_loss"])
    points = tuple(EvaluationRow(*row) for row in zip(*columns, strict=True))
    return Run(record, points, table["step"][-1], table["seconds"][-1], text), unread


def _table(data: bytes) -> pl.DataFrame:
    """Steps with the seconds until their ends; a last line that was cut off is left out."""
    whole = data[: data.rfind(b"\n") + 1]
    if not whole:
        return pl.DataFrame(schema={**NEEDED, "seconds": pl.Float64})
    table = pl.read_csv(io.BytesIO(whole), columns=[*NEEDED], schema_overrides=NEEDED)
    missing = table["step"].null_count() + table["step_s"].null_count()
    if missing or not table["step_s"].is_finite().all():
        raise ValueError("a row without a step or its seconds")
    return table.with_columns(seconds=pl.col("step_s").cum_sum())


def _samples(path: Path) -> str | Problem:
    """What lies there as text, empty where there is none; or why it is not read."""
    try:
        return files.read_bytes(path, LARGEST_SAMPLES).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except (OSError, files.RecordError) as error:
        return Problem(path, f"its samples are not shown: {error}")
