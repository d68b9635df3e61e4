"""How long suites will take: what they took here before, or a guess."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cputrain.results import records
from cputrain.sweep import plan
from cputrain.sweep.guess import guess_s

BETWEEN_SUITES_S = 4.0


class Durations:
    """Seconds that cells will take: what they took here before, or a guess from their FLOPs."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._known: dict[str, float] = {}
        for folder in folders:
            for path in sorted(folder.glob("*/*/run.json")):
                record = records.read_file(path)
                if isinstance(record, records.Problem):
                    continue  # export names broken records; a guess will do here
                done = [w.wall_s for w in record.workers if w.ok and w.wall_s is not None]
                if done:
                    self._known[f"{path.parent.parent.name}/{path.parent.name}"] = done[-1]

    def cell_s(self, planned: plan.Planned, cell: plan.PlannedCell) -> float:
        """Seconds of one worker of `cell`."""
        if cell.why_not is not None:
            return 0.5
        known = self._known.get(f"{planned.name}/{cell.name}")
        return guess_s(cell.experiment) if known is None else known

    def suite_s(self, planned: plan.Planned, rounds: int) -> float:
        """Seconds of a whole suite."""
        cells = sum(self.cell_s(planned, cell) for cell in planned.cells)
        return BETWEEN_SUITES_S + rounds * cells

    @property
    def is_guess(self) -> bool:
        """Whether this machine has run nothing yet."""
        return not self._known
