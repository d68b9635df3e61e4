"""Trains a run to its end, and tells of it: the verb `train`."""

from __future__ import annotations

import datetime
import os
import signal
import time
from dataclasses import replace

from msgspec import structs

from cputrain import paths
from cputrain.errors import RunError, UsageError
from cputrain.experiment.rules import BYTES
from cputrain.model import flops
from cputrain.record import files
from cputrain.record.answers import Failed, Phase, Ready
from cputrain.record.notices import Drift, Memory, Usual
from cputrain.record.train import (
    DECODER,
    FILE,
    Ended,
    Kept,
    Placed,
    Progressed,
    Started,
    Stretch,
    TrainRecord,
)
from cputrain.report import described, together, train_end, trained_page, watched
from cputrain.report import train as report
from cputrain.results import machines, rates
from cputrain.run import placement, recording, stacks, suite, trained_worker
from cputrain.run.session import Session, new_name
from cputrain.sweep import asvenv, plan, stopping
from cputrain.sweep.one_request import ProcessEnd, RequestProcess
from cputrain.sweep.progress import Progress
from cputrain.sweep.training import beside, continuing
from cputrain.sweep.training.asked import Asked, folder_of, record_of, resumed_step
from cputrain.sweep.training.events import EventFiles

LINES_S = (1.0, 10.0)
"""Seconds between two lines of a run: in its first minute, and later."""
FIRST_S = 60.0


class Train:
    """Trains (see `driver.Measurement`).

    Args:
        asked: the run.

    Attributes:
        record: of the run, once it is known where it lies.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.progress = Progress()
        self.record: TrainRecord | None = None
        self._signal: int | None = None
        self._process: RequestProcess | None = None
        self._failure: Failed | None = None
        self._saved: int | None = None
        self._told_s = 0.0

    def choose(self) -> list[plan.Planned]:
        """The model, as the cell of no suite. Raises UsageError where it cannot run here."""
        experiment = self.asked.experiment
        why_not = placement.why_not(experiment, stacks.of(experiment))
        if why_not is not None:
            raise UsageError(f"this machine cannot run it: {why_not}")
        if self.asked.has_own_tokens:  # nothing is to be made of the corpus but its bytes
            experiment = experiment.but(vocab_size=BYTES + experiment.training.is_masked)
        cell = plan.PlannedCell((0,), experiment, why_not)
        return [plan.Planned("train", "train", suite.Suite, (cell,))]

    def begin(self, session: Session) -> None:
        """Find out where the run lies and what it goes on from; say what is trained."""
        name = new_name()
        self.session = replace(session, id=name, run=name)
        self.folder = folder_of(session.machine, self.asked.name)
        known = record_of(self.folder)
        step = resumed_step(self.asked, self.folder, known)
        self._saved = step
        self.plan = structs.replace(self.asked.plan, resume=step)
        self._events = EventFiles(self.folder, self.plan.tensorboard, self.progress.say)
        worker = recording.opened(self.session, self.asked.experiment)
        stretches = [] if known is None or step is None else known.stretches
        experiment, done = self.asked.experiment, step or 0
        count = experiment.system.processes or 1
        started = Stretch(started=worker.started, done=done, last=done, processes=count)
        self.record = TrainRecord(
            name=self.asked.name, plan=self.plan, worker=worker, stretches=[*stretches, started]
        )
        if known is not None and step is not None:
            self.record = structs.replace(self.record, started=known.started)
        self.asked.lay(self.folder, step)
        before = stretches[-1].processes if stretches else None
        shared = together.lines(experiment, placement.place(experiment), before)
        for line in (*report.starts(self.plan), *described.lines(experiment), *shared):
            self.progress.say(line)
        if step is not None:
            self.progress.say(f"going on with {self.asked.name} after step {step}")

    def measure(self, asv: asvenv.Asv) -> None:
        """One process, followed to its end.

        Raises:
            RunError: the run failed.
            SystemExit: it was asked to stop, and has saved.
        """
        assert self.record is not None
        self.plan = structs.replace(self.plan, at_peak_s=self._at_peak_s())
        self.record = structs.replace(self.record, plan=self.plan)
        self._write()
        request = trained_worker.TrainRequest(
            experiment=self.asked.experiment.to_json(), plan=self.plan, folder=str(self.folder)
        )
        for number in stopping.SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._stop)
        began = time.monotonic()
        self._process = RequestProcess(
            asv.python(),
            trained_worker.__name__,
            self.session.to_env(),
            stacks.of(self.asked.experiment),
            tells=True,
        )
        if self._signal is not None:  # it came before there was anybody to tell
            self._process.terminate()
        for line in self._process.lines(request):
            self._take(line, time.monotonic() - began)
        ended = self._process.end()
        stopping.install(stopping.end_all)
        self._close(ended, time.monotonic() - began)

    def _at_peak_s(self) -> float | None:
        """Seconds of a step's work, counted once, at the measured peak."""
        experiment = self.asked.experiment
        once = experiment.but(activation_checkpointing=False)
        facts, _ = machines.read(paths.ROOT, self.session.machine)
        placed = placement.place(experiment)
        threads = str(min(placed.threads, len(placed.cpus)))
        return rates.at_peak_s(flops.flops_per_step(once).by_type, threads, facts.peaks)

    def _stop(self, number: int, _: object) -> None:
        """Have the worker save and end; what follows its answers goes on until then."""
        if self._signal is None:
            self._signal = number
            os.write(2, b"bench.py: saving after the step in progress\n")
        if self._process is not None:
            self._process.terminate()

    def _take(self, line: bytes, seconds: float) -> None:
        """One answer of the worker's, after so many seconds."""
        assert self.record is not None
        record = self.record
        match DECODER.decode(line):
            case Phase(what=what):
                if not record.stretches[-1].last > record.stretches[-1].done:
                    self.progress.say(what)
            case Placed(placement=placed):
                self.record = structs.replace(record, worker=record.worker.but(placement=placed))
            case Ready() as ready:
                worker = record.worker.with_ready(ready, record.worker.place)
                self.record = structs.replace(record, worker=worker)
                self._write()
            case Started() as told:
                self.record = structs.replace(record, started=told)
                self.progress.say(report.started(told))
            case Progressed() as told:
                self.record = record.with_last(last=told.step, wall_s=seconds)
                self._tell(told, seconds)
            case Kept(step=step):
                self._saved = step
                self.record = record.with_last(last=step, wall_s=seconds)
                self._write()
            case Ended() as ended:
                how = report.how_ended(ended)
                record = record.with_last(
                    last=ended.step, wall_s=seconds, phases=ended.phases, **how
                )
                self.record = structs.replace(record, ended=ended)
            case Memory() | Usual() | Drift() as notice:
                self.record = record.with_notice(notice)
                self.progress.say(watched.line(notice))
                self._write()
            case Failed() as failure:
                self._failure = failure
                self.record = record.with_last(
                    wall_s=seconds, ended="failed", reason=failure.reason
                )

    def _tell(self, told: Progressed, seconds: float) -> None:
        """Print a line, unless the one before is of just now."""
        self._events.follow()
        every = LINES_S[seconds > FIRST_S]
        is_news = told.validation_loss is not None or told.step == self.plan.steps
        if not is_news and seconds - self._told_s < every:
            return
        self._told_s = seconds
        self.progress.say(report.progress(told, self.plan.steps, datetime.datetime.now()))

    def _close(self, process: ProcessEnd, seconds: float) -> None:
        """Write the record, and end as the run did."""
        assert self.record is not None
        ended = self.record.ended
        if self._failure is None and ended is None:
            why = f"its process ended with {process}"
            self.record = self.record.with_last(wall_s=seconds, ended="failed", reason=why)
            self._failure = Failed(status="failed", reason=why)
        self._write()
        self._events.close()
        if self._signal is not None and (ended is None or not ended.is_done):
            os.write(2, f"bench.py: stopped; {self.stopped()}\n".encode())
            raise SystemExit(128 + self._signal)
        if self._failure is not None:
            raise RunError(f"{self._failure.reason}; {self.stopped()}")

    def _write(self) -> None:
        files.write(self.folder / FILE, self.record)

    def end(self) -> None:
        """Say how it ended, and what had been projected."""
        assert self.record is not None and self.record.ended is not None
        ended = self.record.ended
        known = beside.projected(self.record, self.session.machine)
        self.record = structs.replace(self.record, beside=known)
        self._write()
        self.progress.say(report.ended(self.record, ended))
        count = self.asked.experiment.system.processes
        mixed = together.mixed(self.record)
        if mixed or known is not None or self.plan.start is None:  # project knows no fine-tuning
            self.progress.say(mixed or report.beside(known, count))
        for line in train_end.lines(self.record):
            self.progress.say(line)
        self.record = continuing.at_end(self.record, self.folder, self.session, self.progress.say)
        self._write()
        self.progress.say(trained_page.written(self.session.machine))
        where = self.folder.relative_to(paths.ROOT)
        self.progress.say(report.left(where, ended, self._events.names))

    def stopped(self) -> str:
        """One line: what is kept of a run that was stopped, and how it goes on."""
        if self._saved is None:
            return "nothing was saved yet: the same command starts it again"
        return (
            f"saved at step {self._saved} of {self.asked.plan.steps}: "
            f"python3 bench.py {self.asked.plan.verb} --resume {self.asked.name} goes on from there"
        )
