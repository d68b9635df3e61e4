"""One cell in one asv process: its worker, its clock and its run record. Standard library only."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import statistics
import time
import uuid
from collections.abc import Iterator
from typing import Any

from cputrain import paths
from cputrain.experiment import Experiment
from cputrain.machine.controls import wanted
from cputrain.machine.controls.changes import Changes
from cputrain.machine.controls.files import ControlError
from cputrain.run import launch, placement, recording
from cputrain.run.launch import CellFailed
from cputrain.run.session import Session
from cputrain.worker import saved


class CellRun:
    """Runs the samples of one (suite, values) and keeps what they left.

    Attributes:
        clock_s: grows by the median step time of each sample.
        start: the saved model that fine-tuning starts from: that of the cell of values `start`.
    """

    def __init__(
        self,
        suite: str,
        values: tuple[Any, ...],
        experiment: Experiment,
        start: tuple[Any, ...] | None = None,
    ) -> None:
        self.suite, self.values, self.experiment = suite, values, experiment
        self.session = Session.from_env()
        self.clock_s = 0.0
        self.worker: launch.Worker | None = None
        self.changes: Changes | None = None
        self.folder = (
            paths.output_folder(self.session.machine, self.session.mode)
            / suite
            / paths.cell_name(values)
        )
        self.start = self.folder.with_name(paths.cell_name(start or values)) / saved.MODEL
        self._open()

    def why_no_start(self) -> str | None:
        """Why the saved model that this cell starts from is not there; None where it is."""
        if self.experiment.training.fine_tuning == "scratch" or self.start.exists():
            return None
        return f"{self.start} is not there to start from: run the whole suite {self.suite} first"

    def _change_machine(self) -> None:
        """Set what the experiment asks of the machine; `_close` has it put back."""
        self.changes = wanted.changes(self.experiment)
        if self.changes.wanted:
            self.record["machine_changes"] = self.changes.record
        try:
            self.changes.apply()
        except ControlError as error:
            raise CellFailed("failed", str(error)) from error

    def _put_back(self) -> str | None:
        """Put back what was changed; one line about the first file that could not be."""
        left = [] if self.changes is None else self.changes.put_back()
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

    def _open(self) -> None:
        commit, dirty = recording.commit()
        self.started = time.monotonic()
        self.record: dict[str, Any] = {
            "id": uuid.uuid4().hex[:12],
            "session": self.session.id,
            "run": self.session.run,
            "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "mode": self.session.mode,
            "status": "ok",
            "reason": None,
            "experiment": self.experiment.to_json(),
            "identity": self.experiment.identity,
            "machine": self.session.machine,
            "commit": commit,
            "dirty": dirty,
            "samples": [],
        }

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

    def sample(self) -> None:
        """Take one sample, in a fresh worker where there is none; its step time joins the clock.

        Raises:
            CellFailed: the worker gave no number. The run record says why.
        """
        with self._failing():
            if self.worker is None:
                if self.record["samples"]:
                    self._open()  # asv asked for more samples than the budget has
                self.worker = self._launch()
                self.record |= self.worker.ready()
                del self.record["ready"]
                self.record["placement"] = dataclasses.asdict(self.worker.placement)
            report = self.worker.sample()
            kept = ("step_s", "loss", "tries", "disturbed", "noise", "busy", "waited_s")
            several = tuple(key for key in ("ranks", "exchange") if key in report)
            self.record["samples"].append({key: report.pop(key) for key in (*kept, *several)})
            self.record |= report
            self.clock_s += statistics.median(self.record["samples"][-1]["step_s"])

    def settle(self) -> None:
        """Write the run record; after the budget's last sample also end the worker."""
        if self.worker is None:
            return
        if len(self.record["samples"]) < self.experiment.budget.samples:
            self.record["wall_s"] = time.monotonic() - self.started
            recording.save(self.folder, self.suite, self.values, self.record)
            return
        with self._failing():
            self.record |= self.worker.finish()
            del self.record["finished"]
            if self.changes is not None and (lost := self.changes.lost()) is not None:
                raise CellFailed("failed", lost)
        self.worker = None
        self._close("ok", None)

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except CellFailed as failure:
            self.worker = None
            self._close(failure.status, failure.reason)
            raise
        except OSError as error:  # the worker could not be started, or the record not written
            self._close("failed", str(error))
            raise

    def _close(self, status: str, reason: str | None) -> None:
        """Put the machine back, write the record for the last time, say so to whoever follows."""
        if (left := self._put_back()) is not None:
            status, reason = "failed", f"{reason}; {left}" if reason else left
        self.record |= {"status": status, "reason": reason}
        self.record["wall_s"] = time.monotonic() - self.started
        recording.save(self.folder, self.suite, self.values, self.record)
        steps = [s for sample in self.record["samples"] for s in sample["step_s"]]
        recording.announce(
            self.session,
            {
                "suite": self.suite,
                "cell": paths.cell_name(self.values),
                "status": status,
                "reason": reason,
                "step_s": statistics.median(steps) if steps else None,
                "tokens_per_step": self.experiment.training.tokens_per_step,
                "disturbed": any(sample["disturbed"] for sample in self.record["samples"]),
                "wall_s": self.record["wall_s"],
                "note": self.record.get("note"),
            },
        )
