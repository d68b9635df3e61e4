"""A race: candidates of one knob beside their reference, a block each in turns."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from cputrain.analysis.tuning import counting, halving
from cputrain.errors import RunError
from cputrain.experiment import Experiment
from cputrain.model.memory_estimate import memory_bytes
from cputrain.record.rounds import First
from cputrain.record.sample import Sample
from cputrain.record.tuning import Race
from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning import reduced, unseen
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.reduced import AsRun
from cputrain.sweep.tuning.runner import Ran, Runner
from cputrain.sweep.tuning.standings import Standings
from cputrain.sweep.tuning.workers import Running, Workers

MOST = 6
"""Workers that are alive together."""
WARM_FAR = 2.0
"""A candidate whose fastest step of the warm-up is so many times the reference's is ended."""
WARM_LONG_S = 1.0
"""And takes so long; for the others a block is soon taken, and tells more. Beside two busy
processes the fastest step of a warm-up was 3 ms with one optimizer kernel and 370 with another, in
blocks 7 to 12 ms with either."""
TURNS = 4
"""Rotations that a candidate has to leave time for, to be started: two blocks tell little on a host
that moves its CPUs, and inductor's compilation left the other engines no more."""
MOST_TRIES = 2
"""Rotations of a race at most, over those of its last rung: blocks that do not count are taken
again."""
STRICT_ROTATIONS = 4
"""Rotations from which all blocks count where less than half of a race's do: others have the CPUs
all the time then, and a choice by such blocks is better than none. The test is strict. A race that
is late ends with them at the latest, or once each candidate has blocks enough to win."""
DIED = "the settings that all others are compared with gave no number: {reason}"


class Racing:
    """Runs races.

    Args:
        workers: where they come from.
        chance: orders each rotation.
        now: seconds of a clock that only grows.
        free_bytes: of memory.
    """

    def __init__(
        self,
        workers: Workers,
        chance: random.Random,
        now: Callable[[], float],
        free_bytes: Callable[[], int],
    ) -> None:
        self._workers, self._chance, self._now, self._free = workers, chance, now, free_bytes

    def race(
        self,
        knob: str,
        best: Experiment,
        reference: Running,
        candidates: Sequence[TuningCandidate],
        until: float,
        as_run: AsRun,
        halves: bool = True,
        latest: float | None = None,
        wins: Callable[[Experiment], bool] = lambda experiment: True,
    ) -> Ran:
        """Race candidates; all but the fastest are ended.

        Args:
            knob: what they vary.
            best: so far, whole.
            reference: warm, and runs it as `as_run` has it.
            candidates: one or more.
            until: by the clock; what has not started by then is not tried.
            latest: until when a race goes on whose fastest looks faster; None is `until`.
            as_run: the experiment that stands for one while it races.
            halves: whether slow ones go.
            wins: whether what comes next may go on with an experiment.

        Raises:
            RunError: the reference gave no number.
        """
        runners, waiting = self._start(reference, candidates, until, as_run, halves)
        every = [best, *(runner.candidate.experiment for runner in runners)]
        beside_s, *own_s = unseen.seconds(every, as_run, self._workers.page_s)
        for runner, seconds in zip(runners, own_s, strict=True):
            runner.unseen_s = seconds, beside_s
        latest = until if latest is None else latest
        step_s, order, all_count = self._rotate(reference, runners, until, latest, halves)
        won = Standings(runners).winner() if halves else None
        if won is not None and not wins(runners[won].candidate.experiment):
            won = None
        fastest = reference
        for place, runner in enumerate(runners):
            if runner.running is None:
                continue
            if place == won:
                fastest, runner.outcome = runner.running, "adopted"
            else:
                self._workers.end(runner.running)
        if fastest is not reference:
            self._workers.end(reference)
        race = Race(
            knob=knob,
            reference=reference.experiment.to_json(),
            step_s=step_s,
            unseen_s=beside_s,
            order=order,
            all_count=all_count,
            candidates=[runner.raced for runner in runners],
        )
        return Ran(race, fastest, None if won is None else runners[won].candidate, waiting)

    def _start(
        self,
        reference: Running,
        candidates: Sequence[TuningCandidate],
        until: float,
        as_run: AsRun,
        halves: bool,
    ) -> tuple[list[Runner], list[TuningCandidate]]:
        runners: list[Runner] = []
        for number, candidate in enumerate(candidates):
            alive = [each.running for each in runners if each.running is not None]
            experiment = as_run(candidate.experiment)
            is_full = memory_bytes(experiment).total > self._free() or len(alive) + 1 >= MOST
            if is_full and alive:
                return runners, list(candidates[number:])
            runner = Runner(candidate)
            runners.append(runner)
            expected_s = reference.expected_s(experiment)
            turn_s = sum(each.warm_step_s for each in (reference, *alive))
            turns_s = TURNS * (turn_s + reference.expected_block_s(experiment))
            if self._now() + expected_s + turns_s > until:
                runner.ended("not tried", "no time was left beside the others' blocks")
                continue
            try:
                self._warm(runner, experiment, 2 * expected_s + 10, reference, halves)
            except CellFailed as failure:
                runner.ended("failed", f"{failure.status}: {failure.reason}")
        return runners, []

    def _warm(
        self, runner: Runner, run: Experiment, within_s: float, reference: Running, halves: bool
    ) -> None:
        runner.running = running = self._workers.start(run, within_s)
        runner.ready_s, runner.warm_step_s = running.ready_s, running.warm_step_s
        times = running.warm_step_s / reference.warm_step_s
        is_far = times > WARM_FAR and running.warm_step_s > WARM_LONG_S
        if halves and is_far and reduced.is_alike(run, reference.experiment):
            self._workers.end(running)
            runner.ended("dropped", f"{times:.1f}x by its fastest step before the race")

    def _rotate(
        self,
        reference: Running,
        runners: Sequence[Runner],
        until: float,
        latest: float,
        halves: bool,
    ) -> tuple[list[float], list[list[int]], bool]:
        """Rotations to the end; step times of the reference, who ran when, whether all count."""
        standings = Standings(runners)
        step_s: list[float] = []
        orders: list[list[int]] = []
        passed = 0
        while alive := standings.alive:
            began = self._now()
            orders.append(self._chance.sample([-1, *alive], len(alive) + 1))
            step_s.append(self._rotation(reference, runners, orders[-1]))
            standings.judge(is_strict=len(orders) < STRICT_ROTATIONS)
            took = self._now() - began
            is_rung = standings.most_counted >= halving.RUNGS[passed]
            if halves:
                needs_s = took * (halving.RUNGS[-1] - len(orders))
                is_short = self._now() + needs_s > until
                self._drop(runners, standings.going(passed if is_rung else None, is_short))
            passed += is_rung
            is_last = passed == len(halving.RUNGS) or len(orders) >= MOST_TRIES * halving.RUNGS[-1]
            is_told = is_rung and passed > 1 and standings.is_told
            is_enough = standings.can_be_won or len(orders) >= STRICT_ROTATIONS
            ends = latest if standings.looks_faster else until
            is_late = self._now() + took > ends and is_enough
            if is_last or is_told or is_late:
                break
        return step_s, orders, standings.judge(is_strict=False)

    def _rotation(
        self, reference: Running, runners: Sequence[Runner], order: Sequence[int]
    ) -> float:
        """Everybody's block, beside the reference's; the seconds of a step of that."""
        taken: dict[int, Sample] = {}
        for place in order:
            running = reference if place < 0 else runners[place].running
            assert running is not None
            try:
                taken[place] = self._workers.block(running)
            except CellFailed as failure:
                if place < 0:
                    raise RunError(DIED.format(reason=failure.reason)) from failure
                runners[place].ended("failed", f"{failure.status}: {failure.reason}")
        beside = taken.pop(-1)
        for place, own in taken.items():
            first: First = "cell" if order.index(place) < order.index(-1) else "reference"
            runners[place].step_s.append(own.median_s)
            runners[place].pairs.append(counting.blocks(own, beside, first))
        return beside.median_s

    def _drop(self, runners: Sequence[Runner], going: Mapping[int, str]) -> None:
        for place, reason in going.items():
            running = runners[place].running
            assert running is not None
            self._workers.end(running)
            runners[place].ended("dropped", reason)
