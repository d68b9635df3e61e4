"""The record of a tuning: written after each race and pass, which are also said."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs

from cputrain import paths
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.rounds import LevelEffect, Round
from cputrain.record.tuning import FILE, FOLDER, FreshPass, Race, TuningRecord
from cputrain.report import tuned, tuned_rounds
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.sweep.progress import Progress
from cputrain.sweep.tuning.planned import PlannedTuning


class Account:
    """Keeps the record.

    Args:
        tuning: as it is planned.
        default: its settled experiment.
        session: that it is.
        progress: prints.
        now: seconds of a clock that only grows.

    Attributes:
        record: so far.
        folder: of its files.
    """

    def __init__(
        self,
        tuning: PlannedTuning,
        default: Experiment,
        session: Session,
        progress: Progress,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress, self._now, self._began = progress, now, now()
        output = paths.output_folder(session.machine, session.mode)
        self.folder = output / FOLDER / session.id
        head, dirty = recording.commit()
        self.record = TuningRecord(
            session=session.id,
            machine=session.machine,
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            commit=head,
            dirty=dirty,
            seed=tuning.seed,
            budget_s=tuning.budget_s,
            default=default.to_json(),
            allowed=list(tuning.allowed),
            kept=list(tuning.kept),
        )

    def begin(self) -> None:
        """The budget's time counts from now."""
        self._began = self._now()

    def raced(self, race: Race) -> None:
        """A race has ended."""
        self.keep(races=[*self.record.races, race])
        for line in tuned.race(race):
            self._progress.say(line)

    def ran(self, rounds: Sequence[Round]) -> None:
        """All rounds so far, of which the last has ended."""
        self.keep(rounds=list(rounds))
        self._progress.say(tuned_rounds.round_(rounds[-1], len(rounds)))

    def told(self, levels: Sequence[LevelEffect]) -> None:
        """What races and rounds say of each change."""
        self.keep(levels=list(levels))
        for line in tuned_rounds.levels(self.record):
            self._progress.say(line)

    def tested(self, taken: FreshPass) -> None:
        """A pass of the test has ended."""
        self.keep(passes=[*self.record.passes, taken])
        self._progress.say(tuned.fresh_pass(taken, len(self.record.passes)))

    def keep(self, **changes: object) -> None:
        """Write the record with some fields changed."""
        took = self._now() - self._began
        self.record = structs.replace(self.record, took_s=took, **changes)
        files.write(self.path, self.record)

    @property
    def path(self) -> Path:
        """Of the record."""
        return self.folder / FILE
