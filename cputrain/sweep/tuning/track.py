"""One tuning from races to test: of all engines, or of those that a script of one's own has."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cputrain import atomic, paths
from cputrain.analysis import effects
from cputrain.analysis.tuning import known
from cputrain.analysis.tuning.gain import Gain
from cputrain.analysis.tuning.known import Known
from cputrain.engines import specs
from cputrain.errors import RunError
from cputrain.experiment import Experiment
from cputrain.machine.memory import available_memory
from cputrain.record.tuning import SETTINGS
from cputrain.report import tuned
from cputrain.report.tuned_script import script_lines
from cputrain.results import rows
from cputrain.results.rows import CellResult
from cputrain.run.session import Session
from cputrain.sweep.progress import Progress
from cputrain.sweep.tuning import fresh, knobs, near, reduced, without
from cputrain.sweep.tuning.account import Account, shown
from cputrain.sweep.tuning.incumbent import Incumbent
from cputrain.sweep.tuning.planned import PlannedTuning
from cputrain.sweep.tuning.race import Racing
from cputrain.sweep.tuning.search import Search
from cputrain.sweep.tuning.workers import Workers

TEST, MOST_TEST, WITHOUT = 0.3, 0.6, 0.1
"""Shares of the time: for the test, for it where a pass takes long, for each change by itself."""
ENOUGH = 3
"""Times the least that a tuning needs, from which the time left is worth another one."""


class Track:
    """Races, tests, and says what came of it.

    Args:
        tuning: as it is planned.
        session: that it is; its name is that of the folder.
        progress: prints.
        now: seconds of a clock that only grows.
        earlier: what an earlier tuning of the same model says; it goes before what records say of
            other models.

    Attributes:
        account: keeps its record.
        gain: what the test says; None before it, and where there was none.
    """

    def __init__(
        self,
        tuning: PlannedTuning,
        session: Session,
        progress: Progress,
        now: Callable[[], float],
        earlier: Sequence[Known] = (),
    ) -> None:
        self.tuning, self._session, self._progress, self._now = tuning, session, progress, now
        self._earlier = earlier
        self.default = specs.settle(tuning.experiment)
        self.account = Account(tuning, self.default, session, progress, now)
        self.gain: Gain | None = None

    def run(self, workers: Workers) -> None:
        """Race, then test. Raises RunError where the default gives no number."""
        self.account.begin()
        budget_s = self.tuning.budget_s
        until = self._now() + budget_s
        tested = fresh.sides(self.default, self.default)
        self._progress.say(tuned.opening(budget_s, reduced.reduced(self.default), self.default))
        share = min(max(2 * fresh.pass_s(tested) / budget_s, TEST), MOST_TEST)
        cells, _ = rows.read(paths.ROOT, self._session.machine)
        test_from = until - share * budget_s
        try:
            winner = self._search(workers, cells, test_from - WITHOUT * budget_s, test_from)
            if winner.best != self.default:
                self._test(workers, cells, winner, until)
        except RunError as error:
            self.account.keep(status="failed", reason=str(error))
            raise
        self.account.keep(status="ok")

    def _search(
        self, workers: Workers, cells: Sequence[CellResult], races: float, without_: float
    ) -> Incumbent:
        """The best settings: by races until a time, each change by itself until another."""
        past = [*self._earlier, *known.known(effects.analyse(cells, {}))]
        racing = Racing(workers, random.Random(self.tuning.seed), self._now, available_memory)
        raced = self.account.raced
        search = Search(racing, workers, self.default, self.tuning.kept, past, self._now, raced)
        search.run(knobs.table(self.tuning.allowed), races)
        self.account.keep(versions=search.versions, not_tried=search.not_tried)
        if not search.incumbent.adopted:
            winner = near.likeliest(search.races, search.incumbent)
            self.account.keep(likeliest=[each.label for each in winner.adopted])
            return winner
        race = without.race(racing, workers, search.incumbent, self._now, without_)
        if race is None:
            return search.incumbent
        winner, left_out = without.needed(search.incumbent, race, search.races)
        self.account.keep(without=race, left_out=left_out)
        return winner

    def _test(
        self, workers: Workers, cells: Sequence[CellResult], winner: Incumbent, until: float
    ) -> None:
        self.account.keep(tuned=winner.best.to_json())
        labels = [each.label for each in winner.adopted]
        self._progress.say(tuned.testing(labels, bool(self.account.record.likeliest)))
        tested = fresh.sides(winner.best, self.default)
        earlier = {name: known.identical_passes(cells, name) for name in tested.engines}
        seed, keep_pass = self.tuning.seed, self.account.tested
        self.gain = fresh.Test(workers, tested, earlier, seed, self._now, keep_pass).run(until)

    @property
    def settings(self) -> Path:
        """The file of what is recommended, where something is."""
        return self.account.folder / SETTINGS

    @property
    def recommended(self) -> Experiment | None:
        """What was confirmed; None where nothing was."""
        best = self.account.record.tuned
        if best is None or self.gain is None or not self.gain.is_confirmed:
            return None
        return Experiment.from_json(best)

    def for_a_script(self) -> PlannedTuning | None:
        """What is to be tuned for a script of one's own, in the time that is left.

        None where this one is of use to it, or too little time is left.
        """
        best, first = self.recommended, specs.FIRST
        if best is None or best.runtime.engine == first or self.default.runtime.engine != first:
            return None
        left_s = self.tuning.budget_s - self.account.record.took_s
        if left_s < ENOUGH * least_s(self.default):
            return None
        return replace(self.tuning, budget_s=left_s, kept=(*self.tuning.kept, "engine"))

    def say(self, is_followed: bool) -> None:
        """Print what came of it; write the settings where they are confirmed.

        Args:
            is_followed: another one follows, for a script of one's own.
        """
        record, best = self.account.record, self.recommended
        for line in tuned.outcome(record, self.gain):
            self._progress.say(line)
        if best is not None:
            assert self.gain is not None
            atomic.write_text(self.settings, tuned.settings(best, record, self.gain))
            self._progress.say(f"settings: {shown(self.settings)}")
            launch = f"python3 bench.py train --steps 10000 --model {shown(self.settings)}"
            self._progress.say(f"launch: {launch}")
            for line in [] if is_followed else script_lines(best, self.default, self.tuning.again):
                self._progress.say(line)
        self._progress.say(f"record: {shown(self.account.path)}")


def least_s(default: Experiment) -> float:
    """Seconds, guessed, from which the races' share has time for the default and one candidate."""
    starts = 2 * reduced.start_s(reduced.reduced(default))
    in_all = starts + fresh.pass_s(fresh.sides(default, default))
    return max(in_all, starts / (1 - MOST_TEST - WITHOUT))
