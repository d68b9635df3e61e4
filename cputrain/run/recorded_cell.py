"""A cell's run record, from its opening to its close, whatever became of its worker."""

from __future__ import annotations

import time

from cputrain import paths
from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.record.part import Status
from cputrain.record.process import Turn
from cputrain.record.worker import WorkerRecord
from cputrain.run import placement, recording, stacks
from cputrain.run.machine_settings import MachineSettings
from cputrain.run.session import Session
from cputrain.worker.blocks import Side


class RecordedCell:
    """Keeps the record of the cell's present worker, and the machine's settings while it runs.

    Args:
        key, experiment, turn, reference: see `cell.CellRun`.

    Attributes:
        folder: of the record and the model.
        record: of the present worker: "unproven" until its training gates have passed.
        reference_of: what the reference runs, settled; None where nothing runs beside the cell.
        reference_s: seconds in which a reference that it started has trained.
        measures: whether its samples are measured, and not those of another cell.
    """

    def __init__(
        self,
        key: CellKey,
        experiment: Experiment,
        turn: Turn | None = None,
        reference: Experiment | None = None,
    ) -> None:
        self.key, self.experiment, self.turn = key, specs.settle(experiment), turn
        self.session = Session.from_env()
        steady = self.experiment.runtime.jit_state == "steady"
        self.reference_of = specs.settle(reference) if reference is not None and steady else None
        self.no_reference = "a first step is timed" if not steady else "the suite has no baseline"
        self.reference_s, self.measures = 0.0, True
        self.machine = MachineSettings(self.experiment, self.reference_of)
        suites = paths.output_folder(self.session.machine, self.session.mode)
        self.folder = suites / key.suite / key.name
        self.record = self.opened()

    def opened(self) -> WorkerRecord:
        """The record of a worker that has not started."""
        self.started = time.monotonic()
        record = recording.opened(self.session, self.experiment, turn=self.turn)
        if self.reference_of is None:
            return record.but(reasons={"reference": self.no_reference})
        return record

    def refuse_if(self, reason: str | None) -> None:
        """Record that this machine cannot run the cell, and tell asv by NotImplementedError."""
        if reason is not None:
            self.close("skipped", reason)
            raise NotImplementedError(reason)

    def refuse_where_it_cannot_run(self) -> None:
        """Refuse what this machine cannot run, or whose reference it cannot."""
        self.refuse_if(placement.why_not(self.experiment))
        if self.reference_of is not None:
            reason = placement.why_not_beside(self.reference_of, stacks.running())
            self.refuse_if(placement.because_of_reference(reason))

    def leave_if(self, reason: str | None) -> None:
        """As `refuse_if`, for what another environment runs: what that one has left stays."""
        if reason is not None:
            if not (self.folder / recording.FILE).exists():
                self.refuse_if(reason)
            raise NotImplementedError(reason)

    def died(self, reason: str) -> None:
        """Record that the process of this cell died before it could say anything."""
        self.close("failed", reason)

    def set_machine(self, side: Side) -> None:
        """Set the machine as a side's experiment says; the record has what was for the cell."""
        try:
            self.machine.set(side)
        finally:
            self.record = self.record.but(machine_changes=self.machine.record)

    def _training_s(self) -> float:
        """Seconds in which this cell had one of its workers train."""
        if not self.measures:
            return 0.0
        beside = [pair.reference for pair in self.record.pairs]
        beside += [pair.reference for pair in self.record.spoilt_pairs]
        beside_s = sum(sample.discarded_s + sum(sample.step_s) for sample in beside)
        return (self.record.training_s or 0.0) + beside_s + self.reference_s

    def _note_wall(self) -> None:
        if self.measures:  # else it is that of the worker that ran
            self.record = self.record.but(wall_s=time.monotonic() - self.started)

    def save(self) -> None:
        """Write the record. Raises OSError and files.RecordError."""
        self._note_wall()
        recording.save(self.folder, self.key, self.record)

    def close(self, status: Status, reason: str | None) -> None:
        """Put the machine back, write the record for the last time, say so to whoever follows."""
        if (left := self.machine.put_back()) is not None:
            status, reason = "failed", f"{reason}; {left}" if reason else left
        self._note_wall()
        self.record = self.record.but(status=status, reason=reason)
        if changes := self.machine.record:
            self.record = self.record.but(machine_changes=changes)
        try:
            self.save()
        finally:
            recording.announce(self.session, self.key, self.record, self._training_s())
