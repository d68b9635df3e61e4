"""What every process of a group does, and all but rank 0 do at rank 0's word."""

from __future__ import annotations

from cputrain.record.part import Part
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
from cputrain.worker.ranks.share import Share
from cputrain.worker.ranks.stepping import RankStepper
from cputrain.worker.stepper import Stepper


class Member(Share, Job):
    """What every rank does."""

    def make_stepper(self) -> Stepper:
        """Steps that all take together."""
        return RankStepper(self.experiment, self.engine, self.feed, self.group, self.placement)


class Follower(Member):
    """Every other rank: it has met the others, and tells the launcher nothing."""

    def __init__(self, request: JobRequest, group: Group) -> None:
        super().__init__(request, descriptor=-1)
        self.group = group

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
                    agreement.of_all(self.group, self.in_force())
                case CompareWeights():
                    agreement.same_weights(self.group, self.engine)
        self.feed.close()
