"""One worker that trains a run, in the environment that has its engine; hands on what it answers.

`python -m cputrain.run.trained_worker` reads a `TrainRequest` from its standard input, and prints
lines of JSON (`record.train.TrainingAnswer`). SIGTERM has the worker save and end. It is told the
session and the machine as asv's processes are, by the environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.machine import processes
from cputrain.record import files, requests
from cputrain.record.answers import Failed, Phase, Ready
from cputrain.record.part import Part, Parts
from cputrain.record.plan import TrainingPlan
from cputrain.record.requests import StopCommand, WorkerRequest
from cputrain.record.train import DECODER, Ended, Placed, TrainingAnswer
from cputrain.run import one_request, placement
from cputrain.run.failed import CellFailed
from cputrain.run.launch import Worker
from cputrain.run.session import Session

PROGRAM = (sys.executable, "-P", "-m", "cputrain.worker.training.process")
RANK = (sys.executable, "-P", "-m", "cputrain.worker.training.ranks")
"""Of each of several processes."""
NO_DEADLINE_S = 10**9


class TrainRequest(Part, frozen=True, kw_only=True):
    """What to train, how, and the folder of the run."""

    experiment: Parts
    plan: TrainingPlan
    folder: str


def run(request: TrainRequest) -> bool:
    """Train, and print what the worker answers; whether it came to an orderly end."""
    session = Session.from_env()
    experiment = specs.settle(Experiment.from_json(request.experiment))
    if (why_not := placement.why_not(experiment)) is not None:
        _say(Failed(status="skipped", reason=why_not))
        return False
    plan = request.plan
    start = plan.start if plan.resume is None else None  # a checkpoint has all weights
    worker_request = WorkerRequest(
        folder=request.folder,
        offline=session.offline,
        model_cap_bytes=0,
        start=None if start is None else start.file,
        plan=plan,
    )
    command = PROGRAM if experiment.system.processes is None else RANK
    worker = Worker(experiment.but(deadline_s=NO_DEADLINE_S), worker_request, command=command)
    since = processes.started(worker.process.pid)
    signal.signal(signal.SIGTERM, lambda *_: _stop(worker, since))
    try:
        _say(Placed(placement=worker.placement))
        while True:
            line = worker.line()
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()
            answer = DECODER.decode(line)
            if isinstance(answer, Phase | Ready):
                worker.phase = answer.what if isinstance(answer, Phase) else "training"
            if isinstance(answer, Ended | Failed):
                return isinstance(answer, Ended)
    except CellFailed as failure:
        _say(Failed(status=failure.status, reason=failure.reason))
        return False
    finally:
        worker.end()


def _stop(worker: Worker, since: int | None) -> None:
    """Have a worker save and end, which started then.

    torchrun would kill its ranks 30 s after a signal, and not wait for a long step: their first one
    is told by a line. One that has been waited for is told nothing: its number may be another's.
    """
    if worker.process.returncode is not None or since is None:
        return
    if not worker.placement.ranks:
        processes.send(worker.process.pid, since, signal.SIGTERM)
        return
    assert worker.process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        os.write(worker.process.stdin.fileno(), requests.encode(StopCommand()))


def _say(answer: TrainingAnswer) -> None:
    sys.stdout.buffer.write(files.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def main() -> int:
    """Serve one request; 1 where the run failed, which whoever asked has been told."""
    return 0 if run(one_request.read(TrainRequest)) else 1


if __name__ == "__main__":
    sys.exit(main())
