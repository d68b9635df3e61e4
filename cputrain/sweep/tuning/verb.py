"""Finds the fastest settings for a model's training, and puts them to the test: the verb `tune`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from cputrain import paths
from cputrain.engines import specs
from cputrain.errors import RunError, UsageError
from cputrain.report import described
from cputrain.run import compiled, placement, stacks, suite
from cputrain.run.conductor.client import Lease, Listening
from cputrain.run.failed import CellFailed
from cputrain.run.session import Session, new_name
from cputrain.sweep import asvenv, plan
from cputrain.sweep.progress import Progress
from cputrain.sweep.tuning import candidates, earlier, knobs
from cputrain.sweep.tuning.planned import PlannedTuning
from cputrain.sweep.tuning.track import Track, least_s
from cputrain.sweep.tuning.workers import Leased, Workers


class Tune:
    """Tunes (see `driver.Measurement`); for a script of one's own once more, where that is called
    for and there is time.

    Args:
        tuning: as it is planned.
        now: seconds of a clock that only grows.

    Attributes:
        tracks: one or two tunings, the one of all engines first.
    """

    uses_peak = False

    def __init__(self, tuning: PlannedTuning, now: Callable[[], float] = time.monotonic) -> None:
        self.tuning, self.now = tuning, now
        self.progress = Progress()
        self.default = tuning.default
        self.tracks: list[Track] = []

    def choose(self) -> list[plan.Planned]:
        """The model with each single change, as cells of no suite.

        Raises:
            UsageError: it cannot run here, or the budget is too short for it.
        """
        why_not = placement.why_not(self.default, stacks.MAIN)
        if why_not is not None:
            raise UsageError(f"this machine cannot run it: {why_not}")
        needed_s = least_s(self.default)
        if self.tuning.budget_s < needed_s:
            minutes = self.tuning.budget_s / 60
            raise UsageError(
                f"--budget {minutes:g}: too short for a race and a test of this model: "
                f"give it {max(0.1, round(needed_s / 60 + 0.05, 1)):g} minutes or more"
            )
        every, kept = [self.default], self.tuning.kept
        for knob in knobs.table(self.tuning.allowed):
            every += [c.experiment for c in candidates.of(knob, self.default, kept, ())[0]]
        cells = (plan.PlannedCell((n,), each, None) for n, each in enumerate(every))
        return [plan.Planned("tune", "tune", suite.Suite, tuple(cells))]

    def begin(self, session: Session) -> None:
        """Give the session its name; say what is tuned."""
        name = new_name()
        self.session = replace(session, id=name, run=name)
        for line in described.lines(self.tuning.experiment):
            self.progress.say(line)

    def measure(self, asv: asvenv.Asv) -> None:
        """Races, then the test.

        Raises:
            RunError: the default gave no number, or the conductor has ended.
        """
        try:
            self._lease(asv)
        except CellFailed as failure:
            raise RunError(failure.reason) from failure
        finally:
            compiled.remove(self.session)

    def _lease(self, asv: asvenv.Asv) -> None:
        conductor = Listening(asv.python(), self.session.to_env())
        try:
            lease = Lease(conductor.path)
            try:
                self.tune(Leased(lease, self.session))
            finally:
                lease.close()
        finally:
            conductor.close()

    def tune(self, workers: Workers) -> None:
        """One tuning, or two; each says what came of it before anything else runs.

        Raises:
            RunError: the default gave no number.
        """
        first = Track(self.tuning, self.session, self.progress, self.now)
        self.tracks.append(first)
        first.run(workers)
        again = first.for_a_script()
        first.say(is_followed=again is not None)
        if again is None:
            return
        session = replace(self.session, id=f"{self.session.id}-{specs.FIRST}")
        engine = first.account.record.tuned
        assert engine is not None
        self.progress.say(
            f"{engine['runtime']['engine']} is no part of a PyTorch script of your own: "
            f"the same with {specs.FIRST} alone"
        )
        told = earlier.told(first.account.record.races, self.default)
        second = Track(again, session, self.progress, self.now, told)
        self.tracks.append(second)
        second.run(workers)
        self.progress.say(f"with {specs.FIRST} alone, for a PyTorch script of your own")
        second.say(is_followed=False)

    def end(self) -> None:
        """Nothing: each tuning has said what came of it."""

    def stopped(self) -> str:
        """One line: what is kept of a run that was stopped."""
        if not self.tracks or not self.tracks[0].account.record.races:
            return "nothing was tuned"
        for track in self.tracks:
            if track.recommended is not None:
                return f"what was confirmed is in {paths.shown(track.settings)}"
        where = paths.shown(self.tracks[0].account.path)
        return f"the races so far are in {where}; nothing is recommended: nothing was confirmed"
