"""A demonstration: an altered worker, the same without the alteration, and a reference, in turns.

`python -m cputrain.run.altered` reads an `AlteredRequest` from its standard input, in the
environment that has the engines, and leaves a record of its own kind: see `record.altered`.
"""

from __future__ import annotations

import contextlib
import datetime
import sys

from msgspec import structs

from cputrain import paths
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.altered import Altered, AlteredEvidence, Losses, Side, path
from cputrain.record.answers import Finished, Sampled
from cputrain.record.evidence import decoded
from cputrain.record.part import Count, Part, Parts
from cputrain.record.requests import WorkerRequest
from cputrain.run import one_request, placement, recording
from cputrain.run.failed import CellFailed
from cputrain.run.launch import Worker
from cputrain.run.session import Session


class AlteredRequest(Part, frozen=True, kw_only=True):
    """What to run.

    Attributes:
        name: of the alteration (`worker.altered`).
        experiment: that is altered; reference: what it is compared with.
        is_fault: the experiment also runs without the alteration.
        blocks: of each side.
    """

    name: str
    experiment: Parts
    reference: Parts
    is_fault: bool
    blocks: Count


class OneSide:
    """A worker, and what it has answered so far."""

    def __init__(self, experiment: Experiment, request: WorkerRequest, name: str = "") -> None:
        words = (sys.executable, "-P", "-m", "cputrain.worker.altered", name)
        self.worker = Worker(experiment, request, command=words if name else (), in_turns=True)
        self.is_altered = bool(name)
        self.worker.ready()
        self.sampled: list[Sampled] = []

    def block(self) -> None:
        """Train a block."""
        self.sampled.append(self.worker.sample(beside=True))

    def end(self) -> Side:
        """What it has to say at its end.

        Raises:
            files.RecordError: see `evidence.decoded`.
        """
        finished: Finished = self.worker.finish()
        place = self.worker.placement
        said: dict[str, str] = {}
        cpus, threads = list(place.cpus), place.threads
        if self.is_altered:
            evidence = decoded(AlteredEvidence, finished.evidence)
            said, cpus, threads = evidence.said, evidence.cpus, evidence.threads
        return Side(
            blocks=[sampled.sample.step_s for sampled in self.sampled],
            disturbed=[sampled.sample.disturbed for sampled in self.sampled],
            losses=Losses(
                first=finished.so_far.first_loss,
                last=finished.last_loss,
                steps=finished.so_far.steps_done or finished.trained.steps_taken,
            ),
            said=said,
            cpus=cpus,
            threads=threads,
        )


def run(request: AlteredRequest, session: Session) -> Altered:
    """Let the sides take turns; the record, which is written too."""
    experiment = specs.settle(Experiment.from_json(request.experiment))
    beside = specs.settle(Experiment.from_json(request.reference))
    record = Altered(
        name=request.name,
        machine=session.machine,
        session=session.id,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        commit=recording.commit()[0],
        experiment=experiment.to_json(),
        beside=beside.to_json(),
        altered=Side(),
        reference=Side(),
        status="failed",
        reason="it was not run to its end",
    )
    where = path(paths.OUTPUT, session.machine, request.name)
    for_all = recording.request(session, where.parent, keeps_model=False)
    with contextlib.ExitStack() as started:
        try:
            for each in (experiment, beside):
                if (reason := placement.why_not(each)) is not None:
                    raise CellFailed("skipped", reason)
            sides = {"altered": OneSide(experiment, for_all, request.name)}
            started.callback(sides["altered"].worker.end)
            sides["reference"] = OneSide(beside, for_all)
            started.callback(sides["reference"].worker.end)
            if request.is_fault:
                sides["plain"] = OneSide(experiment, for_all)
                started.callback(sides["plain"].worker.end)
            order = []
            for number in range(request.blocks):
                names = [name for name in ("altered", "reference", "plain") if name in sides]
                for name in names if number % 2 == 0 else names[::-1]:
                    sides[name].block()
                    order.append(name)
            ended = {name: side.end() for name, side in sides.items()}
            record = structs.replace(record, order=order, status="ok", reason=None, **ended)
        except CellFailed as failure:
            record = structs.replace(record, status=failure.status, reason=failure.reason)
        except files.RecordError as error:
            record = structs.replace(record, status="failed", reason=str(error))
    files.write(where, record)
    return record


def main() -> int:
    """Serve one request."""
    run(one_request.read(AlteredRequest), Session.from_env())
    return 0


if __name__ == "__main__":
    sys.exit(main())
