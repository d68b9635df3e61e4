"""The test of a winner: passes of fresh workers of it beside fresh workers of the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis.paired.model import Pass
from cputrain.analysis.tuning import counting
from cputrain.analysis.tuning.gain import Gain, gain
from cputrain.experiment import Experiment
from cputrain.record.part import Status
from cputrain.record.tuning import Blocks, FreshPass
from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning import reduced
from cputrain.sweep.tuning.workers import Running, Workers
from cputrain.worker import blocks

PAIRS, MOST_PAIRS, FEWEST_PAIRS = 8, 16, 3
PAIRS_S = 3.0
"""Seconds of pairs until which a pass takes more than `PAIRS`: starting workers takes longer."""
MOST_PASSES = 12
TO_SPARE = 1.2
"""Seconds of a later pass, at most, over those that the passes before tell."""


@dataclass(frozen=True)
class Sides:
    """The experiments of a test, as they run there.

    Attributes:
        tuned, default: what is compared.
        twin: runs in two workers in the first pass, which tells the noise: the tuned one where
            both have one engine, else the default one.
        engines: the twin's, then the other one where there are two.
    """

    tuned: Experiment
    default: Experiment

    @property
    def twin(self) -> Experiment:
        """See above."""
        return self.tuned if _engine(self.tuned) == _engine(self.default) else self.default

    @property
    def engines(self) -> tuple[str, ...]:
        """See above."""
        return tuple(dict.fromkeys(map(_engine, (self.twin, self.tuned, self.default))))


def _engine(experiment: Experiment) -> str:
    return experiment.runtime.engine


def sides(tuned: Experiment, default: Experiment) -> Sides:
    """Both in whole micro-batches, as many of them as a step of seconds leaves time for."""
    return Sides(reduced.composed(tuned), reduced.composed(default))


def pass_s(tested: Sides, is_first: bool = True) -> float:
    """A guess at the seconds of a pass with as few pairs as will do.

    Args:
        tested: what it compares.
        is_first: with a twin.
    """
    every = (tested.tuned, tested.default, *([tested.twin] if is_first else []))
    start = sum(reduced.start_s(each) for each in every)
    return start + (FEWEST_PAIRS + 1) * sum(map(reduced.micro_s, every))


def passes_s(tested: Sides) -> float:
    """The same of two passes: of one alone a verdict takes more."""
    return TO_SPARE * (pass_s(tested) + pass_s(tested, is_first=False))


class Test:
    """Takes passes until the effect is as exact as it need be, or the time is up.

    Args:
        workers: where they come from.
        tested: what is compared.
        earlier: by engine, A/A passes in the machine's records.
        seed: says who runs first.
        now: seconds of a clock that only grows.
        taken: told of each pass.
    """

    def __init__(
        self,
        workers: Workers,
        tested: Sides,
        earlier: Mapping[str, Sequence[Pass]],
        seed: int,
        now: Callable[[], float],
        taken: Callable[[FreshPass], None],
    ) -> None:
        self._workers, self._tested, self._seed = workers, tested, seed
        self._earlier = [earlier.get(engine, ()) for engine in tested.engines]
        self._now, self._taken = now, taken
        self.passes: list[FreshPass] = []
        self._shortest_s = 0.0  # of a later pass, with as few pairs as will do

    def run(self, until: float) -> Gain | None:
        """What the passes say; None without a pair that counts."""
        while len(self.passes) < MOST_PASSES:
            if self.passes and self._now() + self._shortest_s > until:
                break
            self.passes.append(self.take(until))
            self._taken(self.passes[-1])
            if self.passes[-1].status not in ("ok", "unproven"):
                break
            if (known := self.gain()) is not None and known.is_closed:
                break
        return self.gain()

    def gain(self) -> Gain | None:
        """What the passes so far say."""
        return gain(self.passes, *self._earlier)

    @property
    def _wants_twin(self) -> bool:
        """Whether nothing tells yet what two workers differ by, or nothing of this test does."""
        twins = [pair for taken in self.passes for pair in taken.twins]
        is_told = bool(self._earlier[0]) or not all(pair.disturbed for pair in twins)
        return not self.passes or not is_told

    def take(self, until: float) -> FreshPass:
        """One pass, which is added by the caller."""
        tested, began = self._tested, self._now()
        running: list[Running] = []
        pairs: list[Blocks] = []
        twins: list[Blocks] = []
        status: Status = "ok"
        reason: str | None = None
        wanted = [tested.tuned, tested.default, *([tested.twin] if self._wants_twin else [])]
        try:
            for experiment in wanted:
                within = max(60.0, until - self._now())
                running.append(self._workers.start(experiment, within))
            start_s = (self._now() - began) * 2 / len(running)
            for worker in running:
                if not worker.is_steady:
                    self._workers.block(worker)  # its warm-up goes on: this one does not count
            pairs, twins = self._pairs(running, start_s, until)
            for worker in (running[0], running[1]):
                self._workers.prove(worker)
                running.remove(worker)
        except CellFailed as failure:
            status, reason = failure.status, failure.reason
        for worker in running:
            self._workers.end(worker)
        return FreshPass(
            pairs=pairs,
            twins=twins,
            twins_engine=_engine(tested.twin) if twins else None,
            status=status,
            reason=reason,
            wall_s=self._now() - began,
        )

    def _pairs(
        self, running: Sequence[Running], start_s: float, until: float
    ) -> tuple[list[Blocks], list[Blocks]]:
        """Pairs of a pass; in the first one fewer where that leaves time for another.

        Args:
            running: the workers: tuned, default, perhaps a twin.
            start_s: seconds until two of them were warm.
            until: by the clock.
        """
        tuned, default = running[:2]
        began = self._now()
        original = tuned if self._tested.twin == self._tested.tuned else default
        pairs: list[Blocks] = []
        twins: list[Blocks] = []
        while len(pairs) < MOST_PAIRS:
            number, at = len(pairs), self._now()
            pairs.append(self._pair(tuned, default, number))
            pair_s = self._now() - at
            self._shortest_s = TO_SPARE * (start_s + (FEWEST_PAIRS + 1) * pair_s)
            if len(running) > 2:
                twins.append(self._pair(original, running[2], number))
            now = self._now()
            # The next pair takes as long as this one, and a proof about a step of each.
            with_next = 2 * now - at + pair_s
            # Without time for another pass, all that is left is this one's.
            has_another = now + pair_s + self._shortest_s <= until
            another_s = self._shortest_s if has_another and len(running) > 2 else 0.0
            if len(pairs) >= FEWEST_PAIRS and with_next + another_s > until:
                break
            if has_another and len(pairs) >= PAIRS and now - began >= PAIRS_S:
                break
        return pairs, twins

    def _pair(self, cell: Running, other: Running, number: int) -> Blocks:
        order = blocks.order(f"{self._seed} {len(self.passes)}", number)
        taken = {side: self._workers.block(cell if side == "cell" else other) for side in order}
        return counting.blocks(taken["cell"], taken["reference"], order[0])
