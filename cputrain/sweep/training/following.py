"""A run's record while its worker answers, and what is printed of it."""

from __future__ import annotations

import datetime
from pathlib import Path

from msgspec import structs

from cputrain.record import files
from cputrain.record.answers import Failed, Phase, Ready
from cputrain.record.notices import Drift, Memory, Usual
from cputrain.record.train import DECODER, Ended, Kept, Placed, Progressed, Started
from cputrain.record.trained import FILE, TrainRecord
from cputrain.record.worker import WorkerRecord
from cputrain.report import train as report
from cputrain.report import watched
from cputrain.sweep.progress import Progress
from cputrain.sweep.training.events import EventFiles

LINES_S = (1.0, 10.0)
"""Seconds between two lines of a run: in its first minute, and later."""
FIRST_S = 60.0


class Following:
    """Takes what the worker answers into the record of its run.

    Args:
        folder: of the run.
        record: as it begins; its last stretch is this one.
        progress: takes the lines.
        before: worker of the stretch before, whose facts stay where this one trains no step; None
            of a run that begins.

    Attributes:
        record: as it is so far.
        failure: what the worker said of its end, where it failed.
        saved: the step of the last checkpoint; None before the first.
        events: TensorBoard's files.
    """

    def __init__(
        self,
        folder: Path,
        record: TrainRecord,
        progress: Progress,
        before: WorkerRecord | None = None,
    ) -> None:
        self._folder, self._progress, self._before = folder, progress, before
        self.record = record
        self.failure: Failed | None = None
        self.saved = record.plan.resume
        self.events = EventFiles(folder, record.plan.tensorboard, progress.say)
        self._told_s = 0.0
        self._has_said_why = False

    def write(self) -> None:
        """Write the record. Raises OSError where that cannot be."""
        files.write(self._folder / FILE, self.record)

    def why_unwritten(self) -> str | None:
        """Write the record; one line with path and reason where that cannot be."""
        try:
            self.write()
        except OSError as error:
            return f"{self._folder / FILE}: {error.strerror or error}: the record is not written"
        return None

    def keep(self) -> None:
        """Write the record; where that cannot be the run goes on, and the next write has it all."""
        why = self.why_unwritten()
        if why is not None and not self._has_said_why:
            self._has_said_why = True
            self._progress.say(f"{why}; the run goes on, and tries again at its next checkpoint")

    def take(self, line: bytes, seconds: float) -> None:
        """One answer of the worker's, after so many seconds."""
        record = self.record
        match DECODER.decode(line):
            case Phase(what=what):
                if not record.stretches[-1].last > record.stretches[-1].done:
                    self._progress.say(what)
            case Placed(placement=placement):
                worker = record.worker.but(placement=placement)
                self.record = structs.replace(record, worker=worker)
            case Ready() as ready:
                worker = record.worker.with_ready(ready, record.worker.place)
                self.record = structs.replace(record, worker=worker)
                self.keep()
            case Started() as started:
                self.record = structs.replace(record, started=started)
                self._progress.say(report.started(started))
            case Progressed() as progressed:
                self.record = record.with_last(last=progressed.step, wall_s=seconds)
                self._tell(progressed, seconds)
            case Kept(step=step):
                self.saved = step
                self.record = record.with_last(last=step, wall_s=seconds)
                self.keep()
            case Ended() as ended:
                if self._before is not None and ended.step == record.stretches[-1].done:
                    record = structs.replace(record, worker=self._before)
                record = record.with_last(
                    last=ended.step,
                    wall_s=seconds,
                    phases=ended.phases,
                    **report.how_ended(ended),
                )
                self.record = structs.replace(record, ended=ended)
            case Memory() | Usual() | Drift() as notice:
                self.record = record.with_notice(notice)
                self._progress.say(watched.line(notice))
                self.keep()
            case Failed() as failure:
                self.fail(failure, seconds)

    def fail(self, failure: Failed, seconds: float) -> None:
        """The stretch failed, after so many seconds."""
        self.failure = failure
        self.record = self.record.with_last(wall_s=seconds, ended="failed", reason=failure.reason)

    def _tell(self, progressed: Progressed, seconds: float) -> None:
        """Print a line, unless the one before is of just now."""
        self.events.follow()
        steps, every = self.record.plan.steps, LINES_S[seconds > FIRST_S]
        is_news = progressed.validation_loss is not None or progressed.step == steps
        if not is_news and seconds - self._told_s < every:
            return
        self._told_s = seconds
        self._progress.say(report.progress(progressed, steps, datetime.datetime.now()))
