"""Which pairs of a cell count, as passes.

A pair is dropped as a whole where others took more of one of its blocks than of the other
(`record.sample.Sample.is_spoilt_beside`): by the time that threads waited for a CPU and by what the
hypervisor took, never by how long the steps took: a rule that saw step times would drop slow
blocks, and with them the truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cputrain.analysis.paired.model import Pass
from cputrain.record.worker import WorkerRecord


@dataclass(frozen=True)
class Counted:
    """The pairs of some workers.

    Attributes:
        passes: of each worker the pairs that count; a worker without one is no pass.
        pairs: all that there are, dropped ones and those that were taken again too.
        cell, reference: pairs whose block of that side was disturbed; a pair may be in both.
    """

    passes: tuple[Pass, ...]
    pairs: int
    cell: int
    reference: int

    @property
    def dropped(self) -> int:
        """Pairs that do not count."""
        return self.pairs - sum(len(pass_.log_ratios) for pass_ in self.passes)

    @property
    def cell_share(self) -> float | None:
        """Share of all pairs whose own block was disturbed, 0 to 1; None without a pair."""
        return self.cell / self.pairs if self.pairs else None

    @property
    def reference_share(self) -> float | None:
        """The same of the reference's block."""
        return self.reference / self.pairs if self.pairs else None


def counted(workers: Iterable[WorkerRecord]) -> Counted:
    """The pairs of these workers, a pass for each worker.

    Args:
        workers: of one cell, or of several.
    """
    passes, pairs, cell, reference = [], 0, 0, 0
    for worker in workers:
        ratios = []
        for spoilt in worker.spoilt_pairs:
            own, other = spoilt.disturbed_sides
            pairs, cell, reference = pairs + 1, cell + own, reference + other
        for pair in worker.pairs:
            own, other = worker.disturbed_sides(pair)
            pairs, cell, reference = pairs + 1, cell + own, reference + other
            if not (own or other):
                ratios.append(worker.log_ratio(pair))
        if ratios:
            passes.append(Pass(tuple(ratios)))
    return Counted(tuple(passes), pairs, cell, reference)
