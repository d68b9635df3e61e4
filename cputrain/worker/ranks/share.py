"""One rank's share of a training: its CPUs, its threads, its part of each step."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cputrain.knobs import inforce
from cputrain.knobs.inforce import Check
from cputrain.record.requests import JobRequest
from cputrain.worker.preparation import Preparation
from cputrain.worker.ranks import agreement
from cputrain.worker.ranks.group import PATIENCE_S, Group

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.engines import Engine, Weights
    from cputrain.engines.torch_.parallel import ParallelEngine


class Share(Preparation):
    """What every rank does in one process's place; `placement` and `cpus` are its own share.

    It stands before another `Preparation` in a class's bases.

    Attributes:
        patience_s: how long a rank waits for the others.
    """

    patience_s: float = PATIENCE_S

    group: Group
    parallel: ParallelEngine

    def __init__(self, request: JobRequest, descriptor: int) -> None:
        """As another's; `request.placement` is that of all ranks of the host."""
        super().__init__(request, descriptor)
        self.placement = self.placement.of_rank(int(os.environ["LOCAL_RANK"]))
        self.cpus = list(self.placement.cpus)

    def meet(self) -> None:
        """Rank 0: meet the others, and tell them what the launcher asks."""
        with self.phase("join_s", "waiting for the other processes"):
            self.group = Group(self.patience_s)
            inforce.require(agreement.members(self.experiment, self.group))
            self.group.tell(self.request)

    def open_feed(self) -> Feed:
        """The same data on every rank; the first of a host makes what is not kept there yet."""
        if self.group.local_rank == 0:
            feed = super().open_feed()
            self.group.wait_for_all()
        else:
            self.group.wait_for_all()
            feed = super().open_feed()
        inforce.require(agreement.same_data(self.group, feed))
        return feed

    def make_engine(self, weights: Weights) -> Engine:
        """The engine of this rank's rows."""
        from cputrain.engines.torch_.parallel import ParallelEngine

        self.parallel = ParallelEngine(self.experiment, weights)
        return self.parallel

    def averaged(self) -> list[Check]:
        """That gradients are averaged. All ranks have to ask at once."""
        return agreement.averaging(self.experiment, self.group, self.parallel, self.feed)

    def in_force(self) -> list[Check]:
        """This rank's own settings, and what all of them together show."""
        checks = [
            *super().in_force(),
            *agreement.members(self.experiment, self.group),
            *self.averaged(),
            *agreement.same_weights(self.group, self.engine),
        ]
        inforce.require(checks)
        return checks
