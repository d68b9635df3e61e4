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
from cputrain.sweep.tuning import choice, fresh, joint, knobs, near, reduced, sides, without
from cputrain.sweep.tuning.account import Account
from cputrain.sweep.tuning.factors import Factors
from cputrain.sweep.tuning.incumbent import Incumbent
from cputrain.sweep.tuning.planned import PlannedTuning
from cputrain.sweep.tuning.race import Racing
from cputrain.sweep.tuning.rounds import Rounds
from cputrain.sweep.tuning.search import Search
from cputrain.sweep.tuning.workers import Workers

TEST, WITHOUT, MOST = 0.3, 0.1, 0.7
"""Shares of the time: for the test, for each change by itself, for both where a pass takes long."""
ROUNDS, JOINT = 0.4, 0.5
"""The most of it that rounds take; of theirs, how much is kept for all likely changes at once."""
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
        self.default = tuning.default
        self.account = Account(tuning, self.default, session, progress, now)
        self.gain: Gain | None = None

    def run(self, workers: Workers) -> None:
        """Race, then test. Raises RunError where the default gives no number."""
        self.account.begin()
        budget_s = self.tuning.budget_s
        until = self._now() + budget_s
        self._progress.say(tuned.opening(budget_s, reduced.reduced(self.default), self.default))
        cells, _ = rows.read(paths.ROOT, self._session.machine)
        try:
            winner = self._search(workers, cells, until)
            if winner.best != self.default:
                self._test(workers, cells, winner, until)
        except RunError as error:
            self.account.keep(status="failed", reason=str(error))
            raise
        self.account.keep(status="ok")

    def _search(self, workers: Workers, cells: Sequence[CellResult], until: float) -> Incumbent:
        """The best settings by races, by each change by itself and by rounds; leaves time for the
        test."""
        after_s = min(
            self._test_s(self.default) + WITHOUT * self.tuning.budget_s, MOST * self.tuning.budget_s
        )
        past = [*self._earlier, *known.known(effects.analyse(cells, {}))]
        racing = Racing(workers, random.Random(self.tuning.seed), self._now, available_memory)
        raced = self.account.raced
        search = Search(racing, workers, self.default, self.tuning.kept, past, self._now, raced)
        table = knobs.table(self.tuning.allowed)
        search.run(table, until - after_s)
        self.account.keep(versions=search.versions, not_tried=search.not_tried)
        best = search.incumbent
        test_from = until - self._test_s(best.best, search.slowness)
        race = without.race(racing, workers, best, self._now, test_from)
        if race is not None:
            best = without.needed(best, race, search.races)
            self.account.keep(without=race)
        expected = {knob.name: knob.expected for knob in table}
        factors = Factors(search.races, best, expected, race)
        winner = self._rounds(workers, search, factors, best, test_from)
        won, kept = ([each.label for each in of.adopted] for of in (search.incumbent, winner))
        self.account.keep(
            left_out=[label for label in won if label not in kept],
            likeliest=[label for label in kept if label not in won],
        )
        return winner

    def _rounds(
        self, workers: Workers, search: Search, factors: Factors, best: Incumbent, until: float
    ) -> Incumbent:
        """What races left open, by workers that differ in many changes at once."""
        is_whole = reduced.same(reduced.reduced(best.best), reduced.composed(best.best))
        as_run = reduced.composed if is_whole else reduced.reduced
        chance = random.Random(self.tuning.seed)
        assert search.last is not None  # it has run
        rounds = Rounds(workers, factors, as_run, chance, self._now, search.last)
        began = self._now()
        for_all_s = min(until - began, ROUNDS * self.tuning.budget_s)
        rounds.run(began + (1 - JOINT) * for_all_s, self.account.ran)
        made, effect = joint.chosen(rounds, factors, best, began + for_all_s, self.account.ran)
        if effect is not None:
            self.account.keep(joint=effect)
        winner = near.likeliest(search.races, made)
        self.account.told(choice.told(factors, winner.best))
        return winner

    def _test_s(self, winner: Experiment, slowness: float = 1.0) -> float:
        """Seconds for the test of a winner; `slowness` of this machine, as far as it is known."""
        passes_s = slowness * sides.passes_s(sides.sides(winner, self.default))
        return max(TEST * self.tuning.budget_s, passes_s)

    def _test(
        self, workers: Workers, cells: Sequence[CellResult], winner: Incumbent, until: float
    ) -> None:
        self.account.keep(tuned=winner.best.to_json())
        labels = [each.label for each in winner.adopted]
        self._progress.say(tuned.testing(labels, self.account.record.likeliest))
        tested = sides.sides(winner.best, self.default)
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
            self._progress.say(f"settings: {paths.shown(self.settings)}")
            launch = f"python3 bench.py train --steps 10000 --model {paths.shown(self.settings)}"
            self._progress.say(f"launch: {launch}")
            for line in [] if is_followed else script_lines(best, self.default, self.tuning.again):
                self._progress.say(line)
        self._progress.say(f"record: {paths.shown(self.account.path)}")


def least_s(default: Experiment) -> float:
    """Seconds, guessed, from which the races' share has time for the default and one candidate."""
    starts = 2 * reduced.start_s(reduced.reduced(default))
    in_all = starts + sides.pass_s(sides.sides(default, default))
    return max(in_all, starts / (1 - MOST))
