"""The study of `grid`: screens a grid, then tests tune's choice against the three best of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from cputrain import paths
from cputrain.analysis.tuning import known
from cputrain.experiment import Experiment
from cputrain.record.tuning import FreshPass
from cputrain.report import tuned, words
from cputrain.results import rows
from cputrain.run import suite
from cputrain.sweep import plan
from cputrain.sweep.tuning import fresh, reduced, sides
from cputrain.sweep.tuning.candidates import FAR
from cputrain.sweep.tuning.planned import PlannedTuning
from cputrain.sweep.tuning.verb import Tune
from cputrain.sweep.tuning.workers import Workers
from cputrain.wording import counted
from tests.live import grid_draw, grid_rivals, grid_shares, grid_size
from tests.live.grid_draw import Combination, KnownShare
from tests.live.grid_rivals import Rival
from tests.live.grid_screen import Screen, Screened
from tests.live.grid_shares import Share

AGAIN, RIVALS = 8, 3
"""Combinations that are measured once more, and of these those that are tested."""


class GridStudy(Tune):
    """Measures a grid with tune's own workers (see `driver.Measurement`).

    Args:
        tuning: the model, what is kept and the seed; its budget is that of the test against each of
            the three.
        choice: of tune, settled.
        compiles: whether inductor is part of the grid.
        most: combinations that are measured.
        pairs: of each cell while screened.
        now: seconds of a clock that only grows.

    Attributes:
        shares: of the grid.
        cells: the combinations that are measured.
        rivals: the three best, tested.
    """

    def __init__(
        self,
        tuning: PlannedTuning,
        choice: Experiment,
        compiles: bool,
        most: int,
        pairs: int,
        now: Callable[[], float],
    ) -> None:
        super().__init__(tuning, now)
        self.choice, self._most, self._wanted = choice, most, pairs
        self.shares, self._refused = grid_shares.shares(self.default, tuning.kept, compiles)
        self._began = 0.0
        self.cells: list[Combination] = []
        self._pairs: dict[str, list[float]] = {}
        self.rivals: list[Rival] = []

    def size(self) -> list[str]:
        """How large the grid is, and about how long the study takes."""
        planned = grid_size.PlannedGrid(
            self.shares, self._refused, self.choice, self._most, self._wanted, AGAIN
        )
        return [
            f"seed {self.tuning.seed}",
            *planned.lines(self.default, RIVALS * self.tuning.budget_s),
        ]

    def choose(self) -> list[plan.Planned]:
        """Every single value, for the set-up (see `driver.Measurement`)."""
        every = [self.default, self.choice]
        for share in self.shares:
            every += [share.plain, *(single.experiment for single in share.singles)]
        cells = (plan.PlannedCell((n,), each, None) for n, each in enumerate(every))
        return [plan.Planned("grid", "grid", suite.Suite, tuple(cells))]

    def tune(self, workers: Workers) -> None:
        """Screen, then test. Raises RunError where a reference gives no number."""
        self._began = self.now()
        screen = Screen(workers, self._wanted, self.tuning.seed)
        measured = self._known(screen)
        near = grid_draw.neighbours(measured, self.choice)
        out = [self.choice, *(cell.experiment for cell in near)]
        drawn = grid_draw.draw(measured, self._most, self.tuning.seed, out)
        self.progress.say(
            f"two best values of each knob: {words.whole(drawn.product)} combinations, "
            f"{words.whole(drawn.near)} expected within {FAR:g}x of the best; "
            f"measured over tune's choice: {len(drawn.cells)}, and {len(near)} that have one value "
            "changed of it"
        )
        self.cells = [*near, *drawn.cells]
        self._measure(screen, self.cells)
        again = self._best(self.cells, AGAIN)
        self.progress.say(f"the {len(again)} fastest once more: all pairs of each together")
        self._measure(screen, again)
        for cell in self._best(again, RIVALS):
            self._test(workers, cell)

    def _measure(self, screen: Screen, cells: Sequence[Combination]) -> None:
        """Take pairs of cells beside tune's choice, added to those that they have."""
        runs = [reduced.composed(cell.experiment) for cell in cells]
        taken = screen.take(reduced.composed(self.choice), runs)
        for cell, screened in zip(cells, taken, strict=True):
            pairs = self._pairs.setdefault(cell.experiment.identity, [])
            pairs += screened.log_ratios
            label = f"{cell.label} (expected {words.ratio(math.exp(cell.expected))})"
            self._say(label, screened if screened.reason else Screened(pairs))

    def _best(self, cells: Sequence[Combination], count: int) -> list[Combination]:
        """The fastest by the medians of their pairs, the fastest first."""
        timed = [(Screened(p).value, c) for c in cells if (p := self._pairs[c.experiment.identity])]
        return [cell for _, cell in sorted(timed, key=lambda item: item[0] or 0.0)[:count]]

    def _known(self, screen: Screen) -> list[KnownShare]:
        """The shares whose plain settings gave a number, with their single values."""
        plains = [reduced.composed(share.plain) for share in self.shares]
        self.progress.say("engines in their plain way, over tune's choice")
        levels = list(screen.take(reduced.composed(self.choice), plains))
        for share, level in zip(self.shares, levels, strict=True):
            self._say(share.label, level)
        return [
            KnownShare(share, level.value, self._effects(share, screen))
            for share, level in zip(self.shares, levels, strict=True)
            if level.value is not None
        ]

    def _effects(self, share: Share, screen: Screen) -> dict[str, float]:
        self.progress.say(f"single values over {share.label} in its plain way")
        effects: dict[str, float] = {}
        for as_run, values in share.groups():
            runs = [as_run(value.experiment) for value in values]
            for value, screened in zip(values, screen.take(as_run(share.plain), runs), strict=True):
                self._say(value.label, screened)
                if screened.value is not None:
                    effects[value.label] = screened.value
        return effects

    def _say(self, label: str, screened: Screened) -> None:
        text = screened.reason
        if screened.value is not None:
            pairs = counted(len(screened.log_ratios), "pair")
            text = f"{words.ratio(math.exp(screened.value))}  {pairs}"
        self.progress.say(f"  {self.now() - self._began:5.0f} s  {label}: {text}")

    def _test(self, workers: Workers, cell: Combination) -> None:
        tested = sides.sides(self.choice, cell.experiment)
        machine, _ = rows.read(paths.ROOT, self.session.machine)
        earlier = {name: known.identical_passes(machine, name) for name in tested.engines}
        number = len(self.rivals) + 1
        self.progress.say(f"test of tune's choice over best {number}, {cell.label}")
        taken: list[FreshPass] = []

        def say(done: FreshPass) -> None:
            taken.append(done)
            self.progress.say(tuned.fresh_pass(done, len(taken)))

        seed = self.tuning.seed + number
        test = fresh.Test(workers, tested, earlier, seed, self.now, say)
        gain = test.run(self.now() + self.tuning.budget_s)
        bad = [each.reason or each.status for each in taken if each.status != "ok"]
        why_not = "" if gain is not None else (bad or [tuned.ALL_DISTURBED])[-1]
        self.rivals.append(Rival(cell, gain, why_not))

    def end(self) -> None:
        """Print the ratios, and whether tune's choice is within 3 % of the best."""
        for line in self.outcome():
            self.progress.say(line)

    def outcome(self) -> list[str]:
        """Tune's choice over each of the best, and over the best of them."""
        values = [Screened(pairs).value for pairs in self._pairs.values()]
        faster = sum(value is not None and value < 0 for value in values)
        measured = counted(len(values), "combination")
        line = f"{measured} measured, of which {faster} looked faster than tune's choice"
        return [line, *grid_rivals.outcome(self.rivals)]

    def stopped(self) -> str:
        """One line: what is kept of a study that was stopped."""
        return f"{counted(len(self._pairs), 'combination')} measured; nothing was written"
