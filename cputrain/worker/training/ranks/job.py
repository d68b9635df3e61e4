"""One rank of a run: it trains its share; the first also keeps the table, saves and answers.

All ranks go through the same run, step by step: which step is validated, saved or the last one is
the same on all of them, and where only one can know it, they agree.
"""

from __future__ import annotations

import select
import sys
from typing import Any

from cputrain.knobs import inforce
from cputrain.machine.memory import peak_or_reason
from cputrain.record.part import Part
from cputrain.record.proof import Check
from cputrain.record.requests import JobRequest
from cputrain.worker.ranks import agreement
from cputrain.worker.ranks.group import Group
from cputrain.worker.ranks.share import Share
from cputrain.worker.training.job import TrainingJob
from cputrain.worker.training.ranks.saving import RankSaving
from cputrain.worker.training.table import Row, Table

PATIENCE_S = 7 * 86400.0
"""How long a rank waits for another one, as for the first to write tokens of large files or a
checkpoint to a slow disk. One that has died is noticed at once."""


class RankJob(Share, TrainingJob):
    """Trains one rank's share of a run.

    Args:
        request: with a plan, and the placement of all ranks.
        descriptor: to answer on.
    """

    patience_s = PATIENCE_S
    opens_alone = False
    saving: RankSaving

    def begin(self) -> None:
        """Also hold, before the first step, that gradients are averaged.

        That is a backward pass with its exchange: DDP settles the order of its buckets in the
        first one, so that sums are added up in one order from the first step of a stretch on.
        """
        super().begin()
        self._averaged = super().averaged()
        inforce.require(self._averaged)

    def averaged(self) -> list[Check]:
        """As it was found before the first step."""
        return self._averaged

    def make_saving(self) -> RankSaving:
        """What all ranks do for a checkpoint."""
        return RankSaving(
            *(self.experiment, self.plan, self.folder, self.split.fingerprint),
            *(self.engine, self.hand, self.keep_rows, self.say),
            group=self.group,
        )

    def is_to_stop(self) -> bool:
        """Whether one of the ranks is to stop: then all do, after the same step."""
        return self.group.any(self.stopping)

    def of_all(self, loss: float) -> float:
        """The mean of all ranks, whose losses are weighted by their targets."""
        return self.group.mean(loss)

    def in_force(self) -> list[Check]:
        """On rank 0, every rank's."""
        return agreement.of_all(self.group, super().in_force())

    def closing(self) -> dict[str, Any]:
        """On rank 0, what all of them held."""
        peaks = self.group.gather(peak_or_reason("peak_rss_bytes").get("peak_rss_bytes"))
        whole = sum(peaks) if peaks and all(isinstance(peak, int) for peak in peaks) else None
        agreed = self.saving.agreed
        return {"peak_rss_bytes": whole, "peak_rss_bytes_by_rank": peaks or None, "agreed": agreed}


class First(RankJob):
    """Rank 0: the launcher's only partner."""

    def join(self) -> None:
        """Meet the others, and tell them what the launcher asks."""
        self.meet()

    def is_to_stop(self) -> bool:
        """Also where the launcher says so: a line, or its end, after the request."""
        self.stopping = self.stopping or bool(select.select([sys.stdin.fileno()], [], [], 0)[0])
        return super().is_to_stop()


class Other(RankJob):
    """Every other rank: it has met the others; it writes and answers nothing."""

    def __init__(self, request: JobRequest, group: Group) -> None:
        super().__init__(request, descriptor=-1)
        self.group = group

    def say(self, message: Part) -> None:
        """Nothing: rank 0 answers for all."""

    def make_table(self) -> Table:
        """None: rank 0 keeps it."""
        return _NoTable()

    def keep_model(self) -> dict[str, Any]:
        """Nothing: rank 0 has the same weights, and writes them."""
        return {}


class _NoTable(Table):
    """Takes rows and keeps none."""

    def __init__(self) -> None:
        self.training_s = self.added_s = 0.0

    def add(self, row: Row) -> None:
        pass

    def flush(self, is_synced: bool = False) -> None:
        pass
