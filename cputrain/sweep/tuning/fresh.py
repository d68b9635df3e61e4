"""The test of a winner: passes of fresh workers of it beside fresh workers of the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cputrain.analysis.paired.model import Pass
from cputrain.analysis.tuning import counting
from cputrain.analysis.tuning.gain import Gain, gain
from cputrain.experiment import Experiment
from cputrain.record.part import Status
from cputrain.record.rounds import Blocks
from cputrain.record.tuning import FreshPass
from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning.sides import FEWEST_PAIRS, TO_SPARE, Sides, engine
from cputrain.sweep.tuning.workers import Running, Workers
from cputrain.worker import blocks

PAIRS, MOST_PAIRS = 8, 16
PAIRS_S = 3.0
"""Seconds of pairs until which a pass takes more than `PAIRS`: starting workers takes longer."""
MOST_PASSES = 12
MANY_PASSES = 4
"""That a test divides its time into, as far as it has room for them: how far workers of a model are
apart is told by fresh ones alone."""
ENOUGH_EARLIER = 3
"""A/A passes in the records from which a test takes none of its own: what a twin takes of the first
pass is worth more as another pass."""


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
        """Whether it is to tell what two workers differ by, as nothing does yet."""
        twins = [pair for taken in self.passes for pair in taken.twins]
        return all(pair.disturbed for pair in twins) and len(self._earlier[0]) < ENOUGH_EARLIER

    def take(self, until: float) -> FreshPass:
        """One pass, which is added by the caller."""
        tested, began = self._tested, self._now()
        running: list[Running] = []
        pairs: list[Blocks] = []
        twins: list[Blocks] = []
        status: Status = "ok"
        reason: str | None = None
        try:
            for experiment in (tested.tuned, tested.default):
                running.append(self._started(experiment, until))
            start_s = self._now() - began
            if self._wants_twin:
                running.append(self._started(tested.twin, until))
            for worker in running:
                if not worker.is_steady:
                    self._workers.block(worker)  # its warm-up goes on: this one does not count
            pairs, twins = self._pairs(running, began, start_s, until)
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
            twins_engine=engine(tested.twin) if twins else None,
            status=status,
            reason=reason,
            wall_s=self._now() - began,
        )

    def _started(self, experiment: Experiment, until: float) -> Running:
        return self._workers.start(experiment, max(60.0, until - self._now()))

    def _pairs(
        self, running: Sequence[Running], began: float, start_s: float, until: float
    ) -> tuple[list[Blocks], list[Blocks]]:
        """Pairs of a pass; fewer where that leaves time for others.

        Args:
            running: the workers: tuned, default, perhaps a twin.
            began: when the pass did, by the clock.
            start_s: seconds until two of them were warm.
            until: by the clock.
        """
        tuned, default = running[:2]
        warm_at = self._now()
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
            is_enough = len(pairs) >= FEWEST_PAIRS
            if is_enough and with_next + another_s > until:
                break
            if is_enough and has_another and with_next > self._share_until(began, until):
                break
            if has_another and len(pairs) >= PAIRS and now - warm_at >= PAIRS_S:
                break
        return pairs, twins

    def _share_until(self, began: float, until: float) -> float:
        """The end of a pass that leaves as much to each other one that there is time for."""
        left_s = until - began
        others = int((left_s - self._shortest_s / TO_SPARE) / self._shortest_s)
        others = max(0, min(MANY_PASSES - len(self.passes) - 1, others))
        return min(began + left_s / (1 + others), until - others * self._shortest_s)

    def _pair(self, cell: Running, other: Running, number: int) -> Blocks:
        order = blocks.order(f"{self._seed} {len(self.passes)}", number)
        taken = {side: self._workers.block(cell if side == "cell" else other) for side in order}
        return counting.blocks(taken["cell"], taken["reference"], order[0])
