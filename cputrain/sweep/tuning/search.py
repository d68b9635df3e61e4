"""The search: a race for each knob, the winner of one the reference of the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from cputrain.analysis.tuning.known import Known
from cputrain.experiment import Experiment
from cputrain.record.tuning import Race, Raced
from cputrain.sweep.tuning import candidates, earlier, near, reduced
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.incumbent import Incumbent
from cputrain.sweep.tuning.knobs import TuningKnob
from cputrain.sweep.tuning.race import TURNS, Racing
from cputrain.sweep.tuning.reduced import AsRun
from cputrain.sweep.tuning.workers import Running, Workers, reference

SHARE = 0.4
"""Of the time left for races, the most that one of them takes, but for the last ones."""
LATE = 0.5
"""Of what is left after that, the most that it takes of it while its fastest looks faster."""


class Search:
    """Finds the fastest settings.

    Args:
        racing: runs the races.
        workers: where their references come from.
        default: what is to be made faster, settled.
        kept: fields that are not to be changed.
        known: what the machine's records say.
        now: seconds of a clock that only grows.
        raced: told of each race that has ended.

    Attributes:
        incumbent: the best settings so far.
        races: that have ended.
        not_tried: knobs that there was no time for.
        versions: of what trained the default settings.
        slowness: of this machine: seconds over those that are guessed.
        last: the last reference that lived.
    """

    def __init__(
        self,
        racing: Racing,
        workers: Workers,
        default: Experiment,
        kept: Sequence[str],
        known: Sequence[Known],
        now: Callable[[], float],
        raced: Callable[[Race], None],
    ) -> None:
        self._racing, self._workers, self._now, self._raced = racing, workers, now, raced
        self._kept, self._known = kept, list(known)
        self._reference: Running | None = None
        self.last: Running | None = None
        self.incumbent = Incumbent.nothing(default)
        self.races: list[Race] = []
        self.not_tried: list[str] = []
        self.versions: dict[str, str] = {}
        self.slowness = 1.0
        self._tried: set[str] = {default.identity}

    def run(self, knobs: Sequence[TuningKnob], until: float) -> None:
        """A race for each knob, those first that are likely to give most; ends its workers.

        Raises:
            RunError: the default settings gave no number.
        """
        first = self._refer(reduced.reduced, until)
        self.versions, self.slowness = first.versions, first.slowness
        self.last = first
        waiting = list(knobs)
        while waiting:
            share = max(SHARE, 1 / len(waiting))
            waiting.remove(knob := self._next(waiting))
            self._knob(knob, self._now() + share * (until - self._now()), until)
        self._close()

    def _next(self, knobs: Sequence[TuningKnob]) -> TuningKnob:
        """The one likely to give most: by what races and records say of it, else by what is usual.

        A race before may have tried the same beside other settings: compilation, as an engine.
        """

        def expected(knob: TuningKnob) -> float:
            can, _ = candidates.of(knob, self.incumbent.best, self._kept, self._known)
            known = [c.known.expected(knob.expected) for c in can if c.known is not None]
            return min(known) if known and len(known) == len(can) else min([knob.expected, *known])

        # What races with whole micro-batches takes the time of many others where they are long.
        best = self.incumbent.best
        is_long = not reduced.same(reduced.reduced(best), reduced.composed(best))
        return min(knobs, key=lambda knob: (is_long and knob.is_whole, expected(knob)))

    def _knob(self, knob: TuningKnob, ends: float, until: float) -> None:
        best = self.incumbent.best
        can, cannot = candidates.of(knob, best, self._kept, self._known)
        can = [c for c in can if c.experiment.identity not in self._tried]
        engines = {c.experiment.runtime.engine for c in can}
        if knob.is_engine and engines <= {best.runtime.engine}:  # nothing to race: see `is_engine`
            can = []
        as_run = reduced.composed if knob.is_whole else reduced.reduced
        can = candidates.by_promise(can, knob.expected, lambda e: self._expected_s(as_run(e)))
        soonest = self._now() + self._soonest_s(can, as_run)
        if can and soonest > until:
            self.not_tried.append(knob.name)
        if can and soonest <= until:
            # A share that is too short for one start would go by with nothing tried.
            ends = ends if soonest <= ends else until
            self._race(knob.name, can, ends, ends + LATE * (until - ends), as_run, cannot)
        elif cannot:
            run = reduced.reduced(best).to_json()
            self._ended(Race(knob=knob.name, reference=run, candidates=cannot))

    def _soonest_s(self, can: Sequence[TuningCandidate], as_run: AsRun) -> float:
        """Seconds that a first candidate needs beside the best so far; 0 without any."""
        if not can:
            return 0.0
        runs = [as_run(candidate.experiment) for candidate in can]
        wanted, soonest = as_run(self.incumbent.best), min(runs, key=self._expected_s)
        seconds, beside = self._expected_s(soonest), self._reference
        if beside is None or not reduced.same(beside.experiment, wanted):
            seconds += self._expected_s(wanted)
        if beside is not None:
            seconds += TURNS * sum(map(beside.expected_block_s, (wanted, soonest)))
        return seconds

    def _expected_s(self, run: Experiment) -> float:
        if self._reference is None:
            return reduced.start_s(run)
        return self._reference.expected_s(run)

    def _refer(self, as_run: AsRun, until: float) -> Running:
        """A worker of the best so far, as the next race runs it: the one that lives, or another.

        Raises:
            RunError: it gave no number.
        """
        wanted = as_run(self.incumbent.best)
        if self._reference is None or not reduced.same(self._reference.experiment, wanted):
            self._close()
            what = "the best so far" if self.incumbent.adopted else "the default settings"
            within_s = max(60.0, until - self._now())
            self._reference = reference(self._workers, wanted, within_s, what)
        return self._reference

    def _close(self) -> None:
        if self._reference is not None:
            self._workers.end(self._reference)
            self._reference = None

    def _race(
        self,
        name: str,
        can: Sequence[TuningCandidate],
        until: float,
        latest: float,
        as_run: AsRun,
        cannot: Sequence[Raced] = (),
    ) -> None:
        """Race candidates, in several races where the memory has no room for all."""
        wins = self._is_no_longer if as_run is reduced.composed else _wins
        waiting = list(can)
        while waiting:
            beside = self._refer(as_run, until)
            ran = self._racing.race(
                name, self.incumbent.best, beside, waiting, until, as_run, latest=latest, wins=wins
            )
            self._reference = self.last = ran.fastest
            self._tried |= {
                candidate.experiment.identity
                for candidate, raced in zip(waiting, ran.race.candidates, strict=False)
                if raced.outcome != "not tried" and not near.is_beside_winner(raced, ran.race)
            }
            self._known = [*earlier.of_race(ran.race, self.incumbent.best), *self._known]
            if ran.winner is not None:
                self.incumbent = self.incumbent.plus(name, ran.winner)
            waiting = ran.waiting
            self._ended(structs.replace(ran.race, candidates=[*ran.race.candidates, *cannot]))
            cannot = ()

    def _is_no_longer(self, experiment: Experiment) -> bool:
        """Whether what is run of it takes no longer than of the best so far.

        A larger micro-batch would make all races after its own longer, or be hidden in them and
        from the rounds, which choose one as well.
        """
        longer, now = (
            reduced.block_s(reduced.composed(each)) for each in (experiment, self.incumbent.best)
        )
        return longer < 1.5 * now

    def _ended(self, race: Race) -> None:
        self.races.append(race)
        self._raced(race)


def _wins(experiment: Experiment) -> bool:
    """Where any may be what comes next."""
    return True
