"""How large a grid is, and about how long it takes to screen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.experiment import Experiment
from cputrain.report import words
from cputrain.sweep.tuning import reduced
from cputrain.sweep.tuning.knobs import in_words
from tests.live.grid_screen import expected_s
from tests.live.grid_shares import Share, differing


@dataclass(frozen=True)
class PlannedGrid:
    """A grid before it is measured.

    Attributes:
        shares: of the engines.
        refused: engines that cannot be, each with the reason.
        choice: of tune, settled.
        most: combinations that are measured.
        pairs: of each cell while screened.
        again: combinations that are measured once more.
    """

    shares: Sequence[Share]
    refused: Sequence[str]
    choice: Experiment
    most: int
    pairs: int
    again: int

    def lines(self, default: Experiment, test_s: float) -> list[str]:
        """All of it for people.

        Args:
            default: the model as described, settled.
            test_s: seconds of all tests at most.
        """
        changes = differing(self.choice, default)
        listed = ", ".join(in_words(name, value) for name, value in changes.items())
        lines = [f"tune's choice: {listed or 'the default settings'}"]
        for share in self.shares:
            counts = ", ".join(f"{name} {1 + len(v)}" for name, v in share.by_knob().items())
            lines.append(f"{share.label}: {words.whole(share.size)} combinations: {counts}")
        lines += [f"no part of the grid: {line}" for line in self.refused]
        whole = words.whole(sum(share.size for share in self.shares))
        lines.append(f"{whole} combinations in all; {self.most} of them are measured at most")
        singles, cells = words.duration(self._singles_s()), words.duration(self._cells_s())
        tests = words.duration(test_s)
        times = f"about {singles} for single values, {cells} for combinations"
        return [*lines, f"{times}; for tests {tests} at most"]

    def _singles_s(self) -> float:
        seconds = 0.0
        for share in self.shares:
            for as_run, values in share.groups():
                cells = [as_run(value.experiment) for value in values]
                seconds += expected_s(as_run(share.plain), cells, self.pairs)
        return seconds

    def _cells_s(self) -> float:
        """As if each took what tune's choice does."""
        run = reduced.composed(self.choice)
        return expected_s(run, [run] * (self.most + self.again), self.pairs)
