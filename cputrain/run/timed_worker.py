"""One worker that trains for some time, every step on the clock; leaves its record.

`python -m cputrain.run.timed_worker` reads a `TimedRequest` from its standard input. It is told the
session and the machine as asv's processes are, by the environment.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from cputrain import paths
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.part import Count, Part, Parts, Seconds, Status
from cputrain.record.projection import FILE, FOLDER, ProjectionRecord
from cputrain.record.worker import WorkerRecord
from cputrain.run import one_request, placement, recording
from cputrain.run.failed import CellFailed
from cputrain.run.launch import Worker
from cputrain.run.session import Session

SAMPLE_S = 5.0
"""Seconds of a sample, about: after each the record has the counters of what went on meanwhile."""


class TimedRequest(Part, frozen=True, kw_only=True):
    """What to train, for how long, and the run that it stands for."""

    experiment: Parts
    seconds: Seconds
    steps: Count
    done: Count


def path_of(folder: Path, session: str) -> Path:
    """Where the record of a session lies.

    Args:
        folder: of the machine's records, `paths.output_folder`.
    """
    return folder / FOLDER / session / FILE


def run(request: TimedRequest) -> None:
    """Train; the record says what came of it.

    Raises:
        OSError, files.RecordError: it cannot be written.
    """
    session, started = Session.from_env(), time.monotonic()
    experiment = specs.settle(Experiment.from_json(request.experiment))
    path = path_of(paths.output_folder(session.machine, session.mode), session.id)
    record = recording.opened(session, experiment)
    status: Status = "ok"
    reason: str | None = None
    try:
        if (why_not := placement.why_not(experiment)) is not None:
            raise CellFailed("skipped", why_not)
        record = _measured(record, experiment, session, path.parent, request.seconds)
    except CellFailed as failure:
        status, reason = failure.status, failure.reason
    record = record.but(status=status, reason=reason, wall_s=time.monotonic() - started)
    files.write(path, ProjectionRecord(steps=request.steps, done=request.done, worker=record))


def _measured(
    record: WorkerRecord, experiment: Experiment, session: Session, folder: Path, seconds: float
) -> WorkerRecord:
    """The record of a worker that has trained for so long, and has proven it.

    Raises:
        CellFailed: it gave no number.
    """
    deadline_s = experiment.budget.deadline_s + round(2 * seconds)
    request = recording.request(session, folder, keeps_model=False)
    worker = Worker(experiment.but(deadline_s=deadline_s), request)
    try:
        ready = worker.ready()
        record = record.with_ready(ready, worker.placement)
        assert ready.warm_step_s is not None  # a first step is not described
        steps = max(1, round(SAMPLE_S / ready.warm_step_s))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            record = record.with_sample(worker.sample(steps=steps))
        record = record.with_proof(worker.finish())
    finally:
        worker.end()
    return record.but(left_over=worker.left_over, forked=worker.forked)


def main() -> int:
    """Serve one request."""
    run(one_request.read(TimedRequest))
    return 0


if __name__ == "__main__":
    sys.exit(main())
