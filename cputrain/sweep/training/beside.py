"""What was projected for a run's steps, from the projections on record."""

from __future__ import annotations

from msgspec import structs

from cputrain import paths
from cputrain.analysis.projection import project
from cputrain.record import files
from cputrain.record.part import Parts
from cputrain.record.projection import FILE, FOLDER, SCHEMA, ProjectionRecord
from cputrain.record.trained import Beside, TrainRecord
from cputrain.sweep import drift

WITHOUT = ("learning_rate", "lr_warmup_steps", "seed", "rows")
"""Fields that a step's time does not depend on."""


def projected(record: TrainRecord, machine: str) -> Beside | None:
    """What the newest projection of the same training, made before it began, says of all steps.

    The schedule of the learning rate takes no time, and is not looked at. None where there is no
    such projection, or the number of processes has changed on the way.
    """
    assert record.ended is not None
    newest = None if len(record.processes) > 1 else _newest(record, machine)
    if newest is None:
        return None
    whole = structs.replace(newest, steps=record.ended.step, done=0)
    last = project(whole, drift.recorded(machine, newest.worker)).milestones[-1]
    return Beside(
        session=newest.worker.session,
        projected_s=last.seconds,
        low_s=last.low,
        high_s=last.high,
        actual_s=record.ended.training_s,
    )


def _newest(record: TrainRecord, machine: str) -> ProjectionRecord | None:
    best: ProjectionRecord | None = None
    for path in (paths.output_folder(machine, "full") / FOLDER).glob(f"*/{FILE}"):
        try:
            other = files.read(path, ProjectionRecord, SCHEMA)
        except (OSError, files.RecordError):
            continue  # an export says so
        if not other.worker.ok or other.worker.started > record.stretches[0].started:
            continue
        if _timed(other.worker.experiment) != _timed(record.worker.experiment):
            continue
        if best is None or other.worker.started > best.worker.started:
            best = other
    return best


def _timed(parts: Parts) -> Parts:
    """What of an experiment a step's time depends on."""
    return {
        part: {name: value for name, value in fields.items() if name not in WITHOUT}
        for part, fields in parts.items()
        if part != "budget"
    }
