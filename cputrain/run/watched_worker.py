"""One worker whose steps are watched part by part, in asv's environment; leaves its record.

`python -m cputrain.run.watched_worker` reads a `WatchRequest` from its standard input. It is told
the session and the machine as asv's processes are, by the environment.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from cputrain import paths
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.answers import Watched
from cputrain.record.part import Part, Parts
from cputrain.record.parts import FILE, SUITE, PartsRecord
from cputrain.record.worker import WorkerRecord
from cputrain.run import one_request, placement, recording
from cputrain.run.failed import CellFailed
from cputrain.run.launch import Worker
from cputrain.run.session import Session

PROGRAM = (sys.executable, "-P", "-m", "cputrain.worker.parts")


class WatchRequest(Part, frozen=True, kw_only=True):
    """What to watch: the suite whose baseline's shape it is, the engine, the experiment."""

    shape: str
    engine: str
    experiment: Parts


def path_of(folder: Path, shape: str, engine: str) -> Path:
    """Where the record of a shape on an engine lies.

    Args:
        folder: of the machine's records, `paths.output_folder`.
    """
    return folder / SUITE / paths.cell_name((shape, engine)) / FILE


def run(request: WatchRequest) -> None:
    """Watch a worker's steps; the record says what came of it.

    Raises:
        OSError, files.RecordError: it cannot be written.
    """
    session, started = Session.from_env(), time.monotonic()
    experiment = specs.settle(Experiment.from_json(request.experiment))
    path = path_of(
        paths.output_folder(session.machine, session.mode), request.shape, request.engine
    )
    record = recording.opened(session, experiment)
    watched, status, reason = None, "unproven", None
    try:
        if (reason := placement.why_not(experiment)) is not None:
            raise CellFailed("skipped", reason)
        record, answer = _measured(record, experiment, session, path.parent)
        watched = answer.watched
        status, reason = "ok", None
    except CellFailed as failure:
        status, reason = failure.status, failure.reason
    record = record.but(status=status, reason=reason, wall_s=time.monotonic() - started)
    files.write(
        path,
        PartsRecord(shape=request.shape, engine=request.engine, worker=record, watched=watched),
    )


def _measured(
    record: WorkerRecord, experiment: Experiment, session: Session, folder: Path
) -> tuple[WorkerRecord, Watched]:
    """The record of a worker that has proven that it trained, and what was seen of its steps.

    Raises:
        CellFailed: it gave no number.
    """
    request = recording.request(session, folder, keeps_model=False)
    worker = Worker(experiment, request, command=PROGRAM)
    try:
        record = record.with_ready(worker.ready(), worker.placement)
        answer = worker.watch()
        record = record.with_sample(answer).with_proof(worker.finish())
    finally:
        worker.end()
    return record.but(left_over=worker.left_over, forked=worker.forked), answer


def main() -> int:
    """Serve one request."""
    run(one_request.read(WatchRequest))
    return 0


if __name__ == "__main__":
    sys.exit(main())
