"""Passes over the cells: fresh workers on both sides, until each ratio is told or time is up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from cputrain.analysis.releases import compared
from cputrain.record.releases import ReleasesRecord, TakenPair
from cputrain.sweep.durations import guess_s
from cputrain.sweep.paired.conducted import Conducted
from cputrain.sweep.releases import pairing
from cputrain.sweep.releases.chosen import ChosenCell

IDENTICAL_PASSES = 2
"""Passes that begin with A/A pairs: the reference's side beside itself, one for each engine."""
MOST_PASSES = 30


class Passes:
    """Takes them.

    Args:
        cells: what is compared.
        of: the sides; the first is the reference.
        seed: of the orders.
        until: seconds of the clock `now`.
        keep: told of each pair of workers; the record as it is then.
        now: a clock that only grows.

    Attributes:
        without_time: names of cells that found no time in the first pass.
    """

    def __init__(
        self,
        cells: Sequence[ChosenCell],
        of: Sequence[Conducted],
        seed: int,
        until: float,
        keep: Callable[[TakenPair], ReleasesRecord],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cells, self._of, self._until, self._keep, self._now = (
            cells,
            list(of),
            until,
            keep,
            now,
        )
        self._chance = random.Random(seed)
        self._took: dict[str, float] = {}
        self.without_time: list[str] = []

    def run(self) -> None:
        """All passes."""
        others = range(1, len(self._of))
        todo = [(cell, place) for cell in self._cells for place in others]
        for number in range(1, MOST_PASSES + 1):
            record = self._pass(number, todo)
            if record is None or self._now() > self._until:
                return
            still = {(c.name, c.place) for c in compared.compare(record).cells if c.is_open}
            todo = [(cell, place) for cell, place in todo if (cell.name, place) in still]
            if not todo:
                return

    def _pass(self, number: int, todo: Sequence[tuple[ChosenCell, int]]) -> ReleasesRecord | None:
        """One pass; None where nothing had the time."""
        record = None
        order = self._chance.sample(list(todo), len(todo))
        if number == 1:  # as many cells as there is time for
            order.sort(key=lambda turn: guess_s(turn[0].experiments[0]))
        turns = [(cell, (0, 0)) for cell in self._identical(todo)]
        turns = turns if number <= IDENTICAL_PASSES else []
        for cell, sides in [*turns, *((cell, (0, place)) for cell, place in order)]:
            if self._now() + self._takes_s(cell) / 2 > self._until:
                if number == 1:
                    self.without_time.append(cell.name)
                continue
            taken = pairing.take(cell, number, sides, self._of)
            self._took[cell.name] = taken.wall_s
            record = self._keep(taken)
        return record

    @staticmethod
    def _identical(todo: Sequence[tuple[ChosenCell, int]]) -> list[ChosenCell]:
        """The first cell of each engine."""
        first: dict[str, ChosenCell] = {}
        for cell, _ in todo:
            first.setdefault(cell.engine, cell)
        return list(first.values())

    def _takes_s(self, cell: ChosenCell) -> float:
        return self._took.get(cell.name) or 2 * guess_s(cell.experiments[0])
