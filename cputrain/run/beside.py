"""A cell's worker and the reference beside it, both leased from the conductor."""

from __future__ import annotations

from msgspec import structs

from cputrain.experiment import Experiment
from cputrain.record.answers import Finished, Sampled
from cputrain.record.requests import WorkerRequest
from cputrain.run import compiled
from cputrain.run.conductor.client import Lease
from cputrain.run.conductor.protocol import (
    Ended,
    Finish,
    Refer,
    Start,
    Started,
    Take,
    Taken,
)
from cputrain.run.forking import forkable
from cputrain.run.placement import place
from cputrain.run.session import Session
from cputrain.worker import blocks
from cputrain.worker.blocks import Side


class Beside:
    """Leases a cell's worker, and its reference where it has one.

    Args:
        session: that they belong to.
        experiment: of the cell, settled.
        reference: what the reference runs, settled; None where nothing runs beside the cell.

    Attributes:
        reference: once it has started.
        worker: once it has started, until it has finished.
        code_was_cached, reference_code_was_cached: of each, see `WorkerRecord`.
    """

    def __init__(
        self, session: Session, experiment: Experiment, reference: Experiment | None
    ) -> None:
        self._session, self._experiment, self._beside = session, experiment, reference
        self._lease: Lease | None = None
        self.worker: Started | None = None
        self.reference: Started | None = None
        self.code_was_cached = self.reference_code_was_cached = False
        self._folder = compiled.Folder()

    def refer(self, request: WorkerRequest) -> Started | None:
        """Have the reference; its proof is None where it was there before.

        Raises:
            CellFailed: it gave none.
        """
        if self._beside is None:
            return None
        folder = compiled.folder(self._session, self._beside)
        self.reference_code_was_cached = folder.has_code
        folder.open()
        ask = Refer(
            run=self._session.run,
            experiment=self._beside.to_json(),
            request=request,
            compiled=None if folder.path is None else str(folder.path),
            fresh=_forks(self._beside) and not _forks(self._experiment),
        )
        self.reference = self._open().ask(ask, Started)
        folder.fill()
        return self.reference

    def start(self, request: WorkerRequest) -> Started:
        """Start the cell's worker; for a warm start another one has compiled before.

        Raises:
            CellFailed: it gave no number.
        """
        self._folder = folder = compiled.folder(self._session, self._experiment)
        start = Start(
            run=self._session.run,
            experiment=self._experiment.to_json(),
            request=request,
            compiled=None if folder.path is None else str(folder.path),
            keep=folder.stays,
        )
        lease = self._open()
        self.code_was_cached = folder.has_code
        folder.open()
        if self._experiment.runtime.jit_state == "warm" and not folder.is_filled:
            cold = self._experiment.but(jit_state="cold")
            first = structs.replace(start, experiment=cold.to_json(), keep=True)
            worker = lease.ask(first, Started).worker
            lease.ask(Take(worker=worker, beside=False), Taken)
            lease.ask(Finish(worker=worker), Ended)
            self.code_was_cached = True
        self.worker = lease.ask(start, Started)
        return self.worker

    def fitting(self, most: int, fewer: bool) -> int:
        """How many samples to take of the worker, which is warm: see `blocks`.

        Args:
            most: of short steps.
            fewer: whether long ones have fewer; a first step is there once.
        """
        assert self.worker is not None
        own = blocks.side(self._experiment, self.worker.ready.warm_step_s)
        if own.step_s is None:
            return 1
        if not fewer:
            return most
        if self.reference is None or self._beside is None:
            return blocks.alone(most, own)
        return blocks.pairs(most, own, blocks.side(self._beside, self.reference.ready.warm_step_s))

    def block(self, side: Side) -> Sampled:
        """A block of one side, while all others are stopped. Raises CellFailed."""
        worker = self.worker if side == "cell" else self.reference
        assert worker is not None
        ask = Take(worker=worker.worker, beside=self.reference is not None)
        return self._open().ask(ask, Taken).sampled

    def finish(self) -> tuple[Finished, str | None]:
        """Have the cell's worker prove that it trained and end; what it left over.

        Raises:
            CellFailed: it did not train.
        """
        assert self.worker is not None
        ended = self._open().ask(Finish(worker=self.worker.worker), Ended)
        self._folder.fill()
        self.worker = None
        assert ended.finished is not None
        return ended.finished, ended.left_over

    def end(self) -> None:
        """End the lease, and with it the worker; the reference stays with the conductor."""
        if self._lease is not None:
            self._lease.close()
        self._lease = self.worker = self.reference = None

    def _open(self) -> Lease:
        self._lease = self._lease or Lease()
        return self._lease


def _forks(experiment: Experiment) -> bool:
    return forkable(experiment, place(experiment))
