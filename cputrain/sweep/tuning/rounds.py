"""Rounds: two fresh workers beside each other, which differ in many changes at once.

A change of a hundredth is more than a race can tell, whose two workers differ by as much. In a
round each of its pairs of blocks tells of all factors, and over many rounds what single workers are
off by cancels (`analysis.tuning.additive`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from msgspec import structs

from cputrain.analysis.paired.model import MEDIAN_VARIANCE
from cputrain.analysis.tuning import counting, halving
from cputrain.analysis.tuning.halving import RaceEvidence
from cputrain.experiment import Experiment
from cputrain.record.rounds import Blocks, Round
from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning import reduced, unseen
from cputrain.sweep.tuning.draws import Draw, Draws, Sides
from cputrain.sweep.tuning.factors import Factors
from cputrain.sweep.tuning.reduced import AsRun
from cputrain.sweep.tuning.workers import Running, Workers
from cputrain.worker import blocks

FIRST_PAIRS, FEWEST_PAIRS, MOST_PAIRS = 4, 2, 8
"""Of a round: the first one's, and what later ones may have."""
FEWEST_JOINT, MOST_JOINT = 2, 4
"""Rounds of all likely changes beside none of them: four tell them to 1 %."""
MOST_FAILED = 3
"""Rounds one after the other that give nothing, after which there are no more."""
TO_SPARE = 1.2
"""Seconds of a round, at most, over those that are expected."""

Taken = Callable[[Sequence[Round]], None]


class Rounds:
    """Takes rounds until all that was open is told, or the time is up.

    Args:
        workers: where they come from.
        factors: what is varied; they are told of each round.
        as_run: what of an experiment is run.
        chance: draws levels and orders.
        now: seconds of a clock that only grows.
        like: a worker that has lived, by which seconds are expected.

    Attributes:
        rounds: so far.
        shows: whether what is run differs by a level as the whole does.
    """

    def __init__(
        self,
        workers: Workers,
        factors: Factors,
        as_run: AsRun,
        chance: random.Random,
        now: Callable[[], float],
        like: Running,
    ) -> None:
        self._workers, self._factors, self._as_run = workers, factors, as_run
        self._chance, self._now, self._like = chance, now, like
        self._draws = Draws(factors, as_run, chance)
        self._pairs = FIRST_PAIRS
        self._sides: list[Sides] = []
        self.rounds: list[Round] = []
        self.shows = self._draws.shows

    def run(self, until: float, taken: Taken) -> None:
        """Take rounds.

        Args:
            until: by the clock.
            taken: told of all rounds after each.
        """
        failed = 0
        while failed < MOST_FAILED:
            variance = RaceEvidence([0.0] * self._pairs, self._noise).variance
            draw = self._draws.best(variance, self._expected_s, until - self._now())
            if draw is None:
                break
            self._round(draw, until, taken)
            failed = 0 if self.rounds[-1].status == "ok" else failed + 1

    def joint(
        self, own: Experiment, beside: Experiment, until: float, taken: Taken
    ) -> list[RaceEvidence]:
        """Take rounds of two settings until `MOST_JOINT` have pairs that count.

        What they say does not end them.

        Args:
            until: by the clock.
            taken: told of all rounds after each.

        Returns:
            What each says that has such pairs; there is no round where there is no time for
            `FEWEST_JOINT`.
        """
        draw = Draw((self._factors.side(own), self._factors.side(beside)), (own, beside))
        told: list[RaceEvidence] = []
        first, failed = len(self.rounds), 0
        while len(told) < MOST_JOINT and failed < MOST_FAILED:
            lacking = max(1, FEWEST_JOINT - len(told))
            if lacking * self._expected_s(draw) > until - self._now():
                break
            self._round(draw, until, taken, is_joint=True)
            failed = 0 if self.rounds[-1].status == "ok" else failed + 1
            every = (ran.log_ratios for ran in self.rounds[first:])
            told = [RaceEvidence(log_ratios, self._noise) for log_ratios in every if log_ratios]
        return told

    def _round(self, draw: Draw, until: float, taken: Taken, is_joint: bool = False) -> None:
        ran = self._take(draw, until)
        self.rounds.append(structs.replace(ran, is_joint=is_joint))
        self._sides.append(draw.sides)
        self._learn()
        taken(self.rounds)

    def _expected_s(self, draw: Draw) -> float:
        """By the last worker that was warm: starts, and blocks, each after a step that does not
        count; with some to spare."""
        runs = [self._as_run(each) for each in draw.experiments]
        beside = self._like.experiment
        start = self._like.ready_s / reduced.start_s(beside)
        step = self._like.warm_step_s / reduced.block_s(beside)
        starts_s = start * sum(map(reduced.start_s, runs))
        pair_s = 2 * step * sum(map(reduced.block_s, runs))
        return TO_SPARE * (starts_s + self._pairs * pair_s)

    @property
    def _noise(self) -> float:
        """Of one ratio, by races and rounds."""
        return halving.noise([*self._factors.log_ratios, *(r.log_ratios for r in self.rounds)])

    def _take(self, draw: Draw, until: float) -> Round:
        began = self._now()
        one, other = draw.sides
        ran = Round(
            levels={
                factor.name: (one[factor].label, other[factor].label)
                for factor in one
                if one[factor] is not other[factor]
            },
            unseen_s=self._unseen_s(draw),
        )
        running: list[Running] = []
        try:
            for experiment in draw.experiments:
                run, within_s = self._as_run(experiment), max(60.0, until - self._now())
                running.append(self._workers.start(run, within_s))
            start_s = self._now() - began
            for worker in running:
                if not worker.is_steady:
                    self._workers.block(worker)  # its warm-up goes on: this one does not count
            warm_at, seed = self._now(), str(self._chance.random())
            pairs = [self._pair(running, seed, number) for number in range(self._pairs)]
            ran = structs.replace(ran, pairs=pairs, status="ok")
            self._like = running[0]
            self._plan(start_s, (self._now() - warm_at) / len(pairs))
        except CellFailed as failure:
            ran = structs.replace(ran, status=failure.status, reason=failure.reason)
        for worker in running:
            self._workers.end(worker)
        return structs.replace(ran, wall_s=self._now() - began)

    def _unseen_s(self, draw: Draw) -> tuple[float, float]:
        one, other = unseen.seconds(draw.experiments, self._as_run, self._workers.page_s)
        return one, other

    def _plan(self, start_s: float, pair_s: float) -> None:
        """As many pairs a round as tell most for a second, as workers differ too.

        A round takes s + n p seconds and has the variance b / n + w, which is least for a second
        where n is the root of (b / w) (s / p).
        """
        of_block, of_workers = MEDIAN_VARIANCE * self._noise**2, halving.OF_WORKERS**2
        most = math.sqrt(of_block / of_workers * start_s / pair_s)
        self._pairs = max(FEWEST_PAIRS, min(MOST_PAIRS, round(most)))

    def _pair(self, running: Sequence[Running], seed: str, number: int) -> Blocks:
        order = blocks.order(seed, number)
        taken = {side: self._workers.block(running[side != "cell"]) for side in order}
        return counting.blocks(taken["cell"], taken["reference"], order[0])

    def _learn(self) -> None:
        """See which pairs count, all where less than half would, and tell the factors."""
        every = [pair for ran in self.rounds for pair in ran.pairs]
        at = counting.learn(every)
        is_few = sum(counting.counts(pair, at) for pair in every) < len(every) / 2
        self.rounds = [
            counting.judged(ran, [is_few or counting.counts(pair, at) for pair in ran.pairs])
            for ran in self.rounds
        ]
        noise = self._noise
        both = zip(self._sides, self.rounds, strict=True)
        told = [(*sides, RaceEvidence(ran.log_ratios, noise)) for sides, ran in both]
        self._factors.learn([each for each in told if each[2].log_ratios])
