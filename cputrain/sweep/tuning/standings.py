"""How a race stands: whose blocks count, who goes, who has won."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from cputrain.analysis.tuning import counting, halving
from cputrain.sweep.tuning.runner import Runner


class Standings:
    """What the blocks of a race say so far.

    Args:
        runners: all of the race; whoever has no worker any more is out of it.
    """

    def __init__(self, runners: Sequence[Runner]) -> None:
        self._runners = runners

    @property
    def alive(self) -> list[int]:
        """Places of those that are still in the race."""
        return [place for place, each in enumerate(self._runners) if each.running is not None]

    def judge(self, is_strict: bool) -> bool:
        """See which pairs count; whether all of them do.

        Args:
            is_strict: others have to leave the CPUs alone; else all count where less than half do.
        """
        at = counting.learn(pair for runner in self._runners for pair in runner.pairs)
        for runner in self._runners:
            runner.judge(at)
        counted = sum(len(runner.log_ratios) for runner in self._runners)
        half = sum(len(runner.pairs) for runner in self._runners) / 2
        all_count = not is_strict and counted < half
        for runner in self._runners if all_count else []:
            runner.judge(None)
        return all_count

    @property
    def most_counted(self) -> int:
        """Blocks that count of whoever in the race has most; 0 where nobody is in it."""
        return max((len(self._runners[place].log_ratios) for place in self.alive), default=0)

    @property
    def can_be_won(self) -> bool:
        """Whether each that is in the race has blocks enough to win it."""
        return all(len(self._runners[p].log_ratios) >= halving.FEWEST for p in self.alive)

    def going(self, rung: int | None, is_short: bool) -> dict[int, str]:
        """Who goes, by place, and why; see `halving.dropped`."""
        return halving.dropped(self._ratios(), self._noise(), rung, is_short)

    @property
    def is_told(self) -> bool:
        """Whether one is left, and surely faster than the reference."""
        return len(self.alive) == 1 and self.winner() is not None

    @property
    def looks_faster(self) -> bool:
        """Whether the fastest looks faster than the reference by `halving.WORTH_MORE`.

        Whether it is surely so has no part in it: a race that ended as soon as it was told would be
        looked at after each rotation, and won by chance more often.
        """
        looks = min(map(statistics.median, self._ratios().values()), default=0.0)
        return looks < -halving.WORTH_MORE

    def winner(self) -> int | None:
        """The place of the one that is surely faster than the reference; see `halving.winner`."""
        started = sum(bool(runner.log_ratios) for runner in self._runners)
        return halving.winner(self._ratios(), self._noise(), started)

    def _ratios(self) -> dict[int, list[float]]:
        """Log ratios of those that are still in the race, and have one."""
        own = {place: self._runners[place].log_ratios for place in self.alive}
        return {place: ratios for place, ratios in own.items() if ratios}

    def _noise(self) -> float:
        return halving.noise([runner.log_ratios for runner in self._runners])
