"""What every process of a group does, and all but rank 0 do at rank 0's word."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cputrain.knobs import inforce
from cputrain.knobs.inforce import Check
from cputrain.record.part import Part
from cputrain.record.process import Placement
from cputrain.record.requests import JobRequest
from cputrain.worker.job import Job
from cputrain.worker.ranks import agreement
from cputrain.worker.ranks.group import Group
from cputrain.worker.ranks.messages import (
    CheckSettings,
    CompareWeights,
    ComputeLoss,
    Leave,
    Train,
)
from cputrain.worker.ranks.stepping import RankStepper
from cputrain.worker.stepper import Stepper

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.engines import Engine, Weights
    from cputrain.engines.torch_.parallel import ParallelEngine


class Member(Job):
    """What every rank does; `placement` and `cpus` are its own share."""

    group: Group
    parallel: ParallelEngine

    def take_share(self, placement: Placement) -> None:
        """Take this rank's share of a host's CPUs and threads."""
        self.placement = placement.of_rank(int(os.environ["LOCAL_RANK"]))
        self.cpus = list(self.placement.cpus)

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

    def make_stepper(self) -> Stepper:
        """Steps that all take together."""
        return RankStepper(self.experiment, self.engine, self.feed, self.group, self.placement)

    def in_force(self) -> list[Check]:
        """This rank's own settings, and what all of them together show."""
        checks = [
            *super().in_force(),
            *agreement.members(self.experiment, self.group),
            *agreement.averaging(self.experiment, self.group, self.parallel, self.feed),
            *agreement.same_weights(self.group, self.engine),
        ]
        inforce.require(checks)
        return checks


class Follower(Member):
    """Every other rank: it has met the others, and tells the launcher nothing."""

    def __init__(self, request: JobRequest, group: Group) -> None:
        super().__init__(request, descriptor=-1)
        self.group = group
        self.take_share(self.placement)

    def say(self, message: Part) -> None:
        """Nothing: rank 0 answers for all."""

    def serve(self) -> None:
        """Do what rank 0 says until it is finished."""
        self.build()
        self.initial = {}  # for the proof, which is rank 0's
        while not isinstance(message := self.group.hear(), Leave):
            match message:
                case Train(steps=steps):
                    self.stepper.train(steps)
                case ComputeLoss(batch=batch):
                    self.group.mean(self.engine.loss(batch))
                case CheckSettings():
                    self.group.gather(self.in_force())
                case CompareWeights():
                    agreement.same_weights(self.group, self.engine)
        self.feed.close()
