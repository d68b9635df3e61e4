"""Trains a run to its end, and tells of it: the verb `train`."""

from __future__ import annotations

import signal
import time
from dataclasses import replace

from msgspec import structs

from cputrain import paths
from cputrain.errors import RunError, UsageError
from cputrain.experiment.rules import BYTES
from cputrain.model import flops
from cputrain.record.answers import Failed
from cputrain.record.trained import Stretch, TrainRecord
from cputrain.report import asked_again, described, together, train_end, trained_page
from cputrain.report import train as report
from cputrain.results import machines, rates
from cputrain.run import placement, recording, stacks, suite, trained_worker
from cputrain.run.session import Session, new_name
from cputrain.sweep import asvenv, plan, stopping, unread
from cputrain.sweep.one_request import ProcessEnd, RequestProcess
from cputrain.sweep.progress import Progress
from cputrain.sweep.training import beside, continuing
from cputrain.sweep.training.folders import folder_of, record_of
from cputrain.sweep.training.following import Following
from cputrain.sweep.training.planned import BROKEN, PlannedRun, resumed_step
from cputrain.wording import one_line


class TrainingRun:
    """Trains (see `driver.Measurement`).

    Args:
        run: as it is planned.

    Attributes:
        following: of the run, once it is known where it lies.
    """

    following: Following

    uses_peak = True

    def __init__(self, run: PlannedRun) -> None:
        self.run = run
        self.progress = Progress(unread.console())
        self._signal: int | None = None
        self._process: RequestProcess | None = None

    def choose(self) -> list[plan.Planned]:
        """The model, as the cell of no suite. Raises UsageError where it cannot run here."""
        experiment = self.run.experiment
        why_not = placement.why_not(experiment, stacks.MAIN)
        if why_not is not None:
            raise UsageError(f"this machine cannot run it: {why_not}")
        if self.run.has_own_tokens:  # nothing is to be made of the corpus but its bytes
            experiment = experiment.but(vocab_size=BYTES + experiment.training.is_masked)
        cell = plan.PlannedCell((0,), experiment, why_not)
        on_corpus = not self.run.plan.files
        return [plan.Planned("train", "train", suite.Suite, (cell,), takes_corpus=on_corpus)]

    def begin(self, session: Session) -> None:
        """Find out where the run lies and what it goes on from; say what is trained."""
        name = new_name()
        self.session = replace(session, id=name, run=name)
        self.folder = folder_of(session.machine, self.run.name)
        known = record_of(self.folder, BROKEN)
        step = resumed_step(self.run, self.folder, known)
        experiment, done = self.run.experiment, step or 0
        worker = recording.opened(self.session, experiment)
        stretches = [] if known is None or step is None else known.stretches
        count = experiment.system.processes or 1
        begun = Stretch(started=worker.started, done=done, last=done, processes=count)
        record = TrainRecord(
            name=self.run.name,
            plan=structs.replace(self.run.plan, resume=step),
            worker=worker,
            stretches=[*stretches, begun],
            started=None if known is None or step is None else known.started,
        )
        known_worker = None if known is None or step is None else known.worker
        self.following = Following(self.folder, record, self.progress, known_worker)
        self.run.lay(self.folder, step)
        before = stretches[-1].processes if stretches else None
        shared = together.lines(experiment, placement.place(experiment), before)
        for line in (*report.starts(record.plan), *described.lines(experiment), *shared):
            self.progress.say(line)
        if step is not None:
            self.progress.say(f"going on with {self.run.name} after step {step}")

    def measure(self, asv: asvenv.Asv) -> None:
        """One process, followed to its end.

        Raises:
            RunError: the run failed.
            SystemExit: it was asked to stop, and has saved.
        """
        following = self.following
        training_plan = structs.replace(following.record.plan, at_peak_s=self._at_peak_s())
        following.record = structs.replace(following.record, plan=training_plan)
        following.write()
        request = trained_worker.TrainRequest(
            experiment=self.run.experiment.to_json(), plan=training_plan, folder=str(self.folder)
        )
        for number in stopping.SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._stop)
        began = time.monotonic()
        self._process = RequestProcess(
            asv.python(),
            trained_worker.__name__,
            self.session.to_env(),
            stacks.MAIN,
            tells=True,
        )
        if self._signal is not None:  # it came before there was anybody to tell
            self._process.terminate()
        for line in self._process.lines(request):
            following.take(line, time.monotonic() - began)
        ended = self._process.end()
        stopping.install(stopping.end_all)
        self._close(ended, time.monotonic() - began)

    def _at_peak_s(self) -> float | None:
        """Seconds of a step's work, counted once, at the measured peak."""
        experiment = self.run.experiment
        work = flops.flops_per_step(experiment, again=False)
        facts, _ = machines.read(paths.ROOT, self.session.machine)
        placed = placement.place(experiment)
        threads = str(min(placed.threads, len(placed.cpus)))
        return rates.at_peak_s(work.by_type, threads, facts.peaks)

    def _stop(self, number: int, _: object) -> None:
        """Have the worker save and end; what follows its answers goes on until then."""
        if self._process is not None:
            self._process.terminate()
        if self._signal is None:
            self._signal = number
            last = self.following.record.stretches[-1]
            saves = last.last > last.done
            what = "saving after the step in progress" if saves else "stopping; no step is done yet"
            stopping.tell(what)

    def _close(self, process: ProcessEnd, seconds: float) -> None:
        """Write the record, and end as the run did."""
        following, ended = self.following, self.following.record.ended
        said = following.failure
        if said is None and ended is None:
            why = f"its process ended with {process}"
            following.fail(Failed(status="failed", reason=why), seconds)
        unwritten = following.why_unwritten()
        following.events.close()
        also = "" if unwritten is None else f"{unwritten}; "
        if self._signal is not None and (ended is None or not ended.is_done):
            why = "" if said is None else f"{one_line(said.reason)}; "
            stopping.tell(f"stopped; {why}{also}{self.stopped()}")
            raise SystemExit(128 + self._signal)
        if following.failure is not None:
            saved = "nothing was saved" if following.saved is None else self.stopped()
            raise RunError(f"{following.failure.reason}; {also}{saved}")
        if unwritten is not None:
            raise RunError(f"{also}{self.stopped()}")

    def end(self) -> None:
        """Say how it ended, and what had been projected."""
        following, say = self.following, self.progress.say
        known = beside.projected(following.record, self.session.machine)
        record = following.record = structs.replace(following.record, beside=known)
        following.keep()
        assert record.ended is not None
        say(report.ended(record, record.ended))
        mixed = together.mixed(record)
        project = asked_again.project(self.run.experiment, record.plan.steps)
        if mixed or known is not None or record.plan.start is None:  # project knows no fine-tuning
            say(mixed or report.beside(known, project))
        for line in train_end.lines(record):
            say(line)
        following.record = continuing.at_end(record, self.folder, self.session, say)
        unwritten = following.why_unwritten()
        say(trained_page.written(self.session.machine))
        where = self.folder.relative_to(paths.ROOT)
        say(report.left(where, record.ended, following.events.names))
        if unwritten is not None:
            raise RunError(f"{unwritten} with what followed its end; the run is done all the same")

    def stopped(self) -> str:
        """One line: what is kept of a run that was stopped, and how it goes on."""
        saved = self.following.saved
        if saved is None:
            return "nothing was saved yet: the same command starts it again"
        return (
            f"saved at step {saved} of {self.run.plan.steps}: "
            f"python3 bench.py {self.run.plan.verb} --resume {self.run.name} goes on from there"
        )
