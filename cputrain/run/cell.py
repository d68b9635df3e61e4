"""One cell in one asv process: its worker, its clock and its run record."""

from __future__ import annotations

import contextlib
import datetime
import time
import uuid
from collections.abc import Iterator

import msgspec

from cputrain import paths
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.machine.controls import wanted
from cputrain.machine.controls.changes import Changes
from cputrain.machine.controls.files import ControlError
from cputrain.record.cell import CellKey
from cputrain.record.events import WorkerEnded
from cputrain.record.files import RecordError
from cputrain.record.part import Status
from cputrain.record.process import Change, Placement, Turn
from cputrain.record.worker import WorkerRecord, step_s
from cputrain.run import launch, placement, recording
from cputrain.run.launch import CellFailed
from cputrain.run.session import Session
from cputrain.worker import saved


class CellRun:
    """Runs the samples of one cell and keeps what they left.

    Args:
        key: the cell.
        experiment: what it runs.
        start: values of the suite's cell whose saved model fine-tuning starts from.
        turn: of a run of engines side by side; goes to the record.

    Attributes:
        clock_s: grows by the median step time of each sample.
        record: of the present worker: "unproven" until its training gates have passed.
    """

    def __init__(
        self,
        key: CellKey,
        experiment: Experiment,
        start: tuple[object, ...] | None = None,
        turn: Turn | None = None,
    ) -> None:
        self.key, self.experiment, self.turn = key, specs.settle(experiment), turn
        self.session = Session.from_env()
        self.clock_s = 0.0
        self.worker: launch.Worker | None = None
        self.changes: Changes | None = None
        suites = paths.output_folder(self.session.machine, self.session.mode)
        self.folder = suites / key.suite / key.name
        self.start = self.folder.with_name(paths.cell_name(start or key.values)) / saved.MODEL
        self.record = self._opened()

    def why_no_start(self) -> str | None:
        """Why the saved model that this cell starts from is not there; None where it is."""
        if self.experiment.training.fine_tuning == "scratch" or self.start.exists():
            return None
        return (
            f"{self.start} is not there to start from: run the whole suite {self.key.suite} first"
        )

    def _change_machine(self) -> None:
        """Set what the experiment asks of the machine; `_close` has it put back."""
        self.changes = wanted.changes(self.experiment)
        try:
            self.changes.apply()
        except ControlError as error:
            raise CellFailed("failed", str(error)) from error
        finally:
            self._note_changes()

    def _note_changes(self) -> None:
        if self.changes is not None:
            changes = msgspec.convert(self.changes.record, list[Change])
            self.record = self.record.but(machine_changes=changes)

    def _put_back(self) -> str | None:
        """Put back what was changed; one line about the first file that could not be."""
        left = [] if self.changes is None else self.changes.put_back()
        self._note_changes()
        self.changes = None
        return f"the machine is NOT as it was: {left[0]}; bench.py restore" if left else None

    def _launch(self) -> launch.Worker:
        """A fresh worker; for a warm start the compiled code of another one is there."""
        self._change_machine()
        request = recording.request(self.session, self.folder)
        if self.experiment.training.fine_tuning != "scratch":
            request["start"] = str(self.start)
        if self.experiment.runtime.jit_state != "warm":
            return launch.Worker(self.experiment, request)
        compiled = placement.COMPILED / uuid.uuid4().hex
        cold = launch.Worker(
            self.experiment.but(jit_state="cold"), request, compiled=compiled, keep=True
        )
        cold.ready()
        cold.sample()
        cold.end()
        return launch.Worker(self.experiment, request, compiled=compiled)

    def _opened(self) -> WorkerRecord:
        """The record of a worker that has not started."""
        commit, dirty = recording.commit()
        self.started = time.monotonic()
        return WorkerRecord(
            id=uuid.uuid4().hex[:12],
            session=self.session.id,
            run=self.session.run,
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            mode="quick" if self.session.mode == "quick" else "full",
            machine=self.session.machine,
            experiment=self.experiment.to_json(),
            identity=self.experiment.identity,
            commit=commit,
            dirty=dirty,
            turn=self.turn,
        )

    def refuse_if(self, reason: str | None) -> None:
        """Record that this machine cannot run the cell, and tell asv by NotImplementedError."""
        if reason is not None:
            self._close("skipped", reason)
            raise NotImplementedError(reason)

    def leave_if(self, reason: str | None) -> None:
        """As `refuse_if`, for what another environment runs: what that one has left stays."""
        if reason is not None:
            if not (self.folder / recording.FILE).exists():
                self.refuse_if(reason)
            raise NotImplementedError(reason)

    def died(self, reason: str) -> None:
        """Record that the process of this cell died before it could say anything."""
        self._close("failed", reason)

    def sample(self) -> None:
        """Take one sample, in a fresh worker where there is none; its step time joins the clock.

        Raises:
            CellFailed: the worker gave no number. The run record says why.
        """
        with self._failing():
            if self.worker is None:
                if self.record.samples:
                    self.record = self._opened()  # asv asked for more samples than the budget has
                self.worker = self._launch()
                ready = self.worker.ready()
                placed = msgspec.convert(self.worker.placement, Placement, from_attributes=True)
                self.record = self.record.with_ready(ready, placed)
            sampled = self.worker.sample()
            self.record = self.record.with_sample(sampled)
            self.clock_s += sampled.sample.median_s

    def settle(self) -> None:
        """Write the run record; after the budget's last sample also end the worker."""
        if self.worker is None:
            return
        with self._failing():
            if len(self.record.samples) < self.experiment.budget.samples:
                self._save()
                return
            self.record = self.record.with_proof(self.worker.finish())
            self.record = self.record.but(left_over=self.worker.left_over)
            if self.changes is not None and (lost := self.changes.lost()) is not None:
                raise CellFailed("failed", lost)
            self.worker = None
            self._close("ok", None)

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except CellFailed as failure:
            self._end()
            self._close(failure.status, failure.reason)
            raise
        except (OSError, RecordError) as error:  # no worker could be started, no record written
            self._end()
            self._close("failed", str(error))
            raise

    def _end(self) -> None:
        if self.worker is not None:
            self.worker.end()
            self.worker = None

    def _save(self) -> None:
        self.record = self.record.but(wall_s=time.monotonic() - self.started)
        recording.save(self.folder, self.key, self.record)

    def _close(self, status: Status, reason: str | None) -> None:
        """Put the machine back, write the record for the last time, say so to whoever follows."""
        if (left := self._put_back()) is not None:
            status, reason = "failed", f"{reason}; {left}" if reason else left
        self.record = self.record.but(
            status=status, reason=reason, wall_s=time.monotonic() - self.started
        )
        try:
            self._save()
        finally:
            recording.announce(
                self.session,
                WorkerEnded(
                    at=time.time(),
                    suite=self.key.suite,
                    cell=self.key.name,
                    status=self.record.status,
                    reason=self.record.reason,
                    step_s=step_s([self.record]),
                    tokens_per_step=self.experiment.training.tokens_per_step,
                    disturbed=any(sample.disturbed for sample in self.record.samples),
                    wall_s=self.record.wall_s or 0.0,
                    note=self.record.note,
                ),
            )
