"""An altered worker's job: as any worker's, but what it is refused for is written down."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cputrain.errors import DidNotTrain
from cputrain.knobs import inforce
from cputrain.knobs.inforce import NotInForce
from cputrain.machine import threads
from cputrain.record.altered import AlteredEvidence
from cputrain.record.answers import Finished, Phase, Sampled
from cputrain.record.evidence import encoded
from cputrain.record.proof import Check, Trained
from cputrain.record.requests import JobRequest, SampleCommand
from cputrain.record.sample import Sample
from cputrain.worker import blocks, saved
from cputrain.worker.job import Job
from cputrain.worker.watch import DISTURBED_SHARE, Watch

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.engines import Engine, Weights


class AlteredJob(Job):
    """A worker with one alteration.

    Args:
        request, descriptor: see `Job`.
        name: of the alteration, in `faults.FAULTS`.
    """

    def __init__(self, request: JobRequest, descriptor: int, name: str) -> None:
        super().__init__(request, descriptor)
        self.name = name
        self.said: dict[str, str] = {}
        self._cpu_time: dict[int, int] = {}

    @contextmanager
    def _noting(self, what: str) -> Iterator[None]:
        """Write down what would have ended an honest worker; its first words stay."""
        try:
            yield
        except (NotInForce, DidNotTrain) as refused:
            self.said.setdefault(what, str(refused))
        except StopIteration:  # the evidence looks at each block's first linear layer
            self.said.setdefault(what, "a block has no linear layer left that could train")

    def open_feed(self) -> Feed:
        """The data, or what the alteration makes of them."""
        from cputrain.worker.altered.faults import FAULTS

        feed: Feed = FAULTS[self.name].feed(super().open_feed())
        return feed

    def make_engine(self, weights: Weights) -> Engine:
        """The engine with the alteration."""
        from cputrain.worker.altered.faults import FAULTS

        fault = FAULTS[self.name]
        fault.before(self.cpus)
        engine = super().make_engine(weights) if fault.keeps else self._plain(weights)
        fault.alter(engine, self.experiment)
        return engine

    def _plain(self, weights: Weights) -> Engine:
        """An fp32, uncompiled, unwindowed engine under the experiment's name."""
        from cputrain import engines

        plain = {"precision": "fp32", "compile": "eager", "attention": "full", "window": None}
        return engines.build(self.experiment.but(**plain), weights)

    def in_force(self) -> list[Check]:
        """What is in force; what is not is written down."""
        with self._noting("what is in force"):
            return super().in_force()
        return []

    def sample(self, command: SampleCommand) -> None:
        """One block; answers with it. Nothing in it is refused.

        Blocks of others are compared with it, so it says whether it was disturbed, as they do.
        """
        self.stepper.train(blocks.discarded(self.warm_step_s))
        from cputrain.worker.altered.faults import FAULTS

        watch = Watch(self.experiment, self.placement, self.feed)
        before = threads.cpu_time_by_thread()
        step_s = self.stepper.train(blocks.steps(self.experiment, self.warm_step_s))
        after = threads.cpu_time_by_thread()
        self._cpu_time = {id: ns - before.get(id, 0) for id, ns in after.items()}
        seen, _ = watch.seen()
        disturbed = seen["disturbed"]
        if FAULTS[self.name].fights:  # its threads wait for one another: what others took counts
            others = seen.get("others_cpu_s") or 0.0
            disturbed = others > DISTURBED_SHARE * seen["wall_s"]
        losses = self.stepper.losses[-len(step_s) :]
        sample = Sample(step_s=step_s, loss=losses, disturbed=disturbed)
        self.say(Sampled(sample=sample, peak=self.peak_memory(), so_far=self.so_far()))

    def proven(self) -> tuple[Finished, saved.Weights]:
        """What an honest worker would have to prove, and what speaks against it."""
        from cputrain.data.corpus import DataError
        from cputrain.worker import gates, proof

        self.say(Phase(what="asking what the training gates say"))
        first, weights = self.feed.first, self.engine.weights()
        steps = len(self.stepper.losses)
        last_loss = self.engine.loss(first)
        seen = Trained(steps_taken=steps, steps_done=0, parameters=len(weights), parameters_moved=0)
        with self._noting("targets"):
            try:
                self._unaltered(first)
            except DataError as error:
                raise DidNotTrain(str(error)) from error
        with self._noting("steps"):
            gates.steps(steps, self.engine.steps_done)
        with self._noting("training"):
            self.ask_first_loss(weights)
            losses = self.start_loss, last_loss
            seen = proof.trained(
                self.experiment, self.engine, first, self.initial, weights, losses, steps
            )
        busiest = max(self._cpu_time.values(), default=0)
        finished = Finished(
            trained=seen,
            last_loss=last_loss,
            evidence=encoded(
                AlteredEvidence(
                    said=self.said,
                    cpus=sorted(os.sched_getaffinity(0)),
                    masks=[sorted(mask) for mask in inforce.masks().values()],
                    threads=sum(ns > busiest / 100 for ns in self._cpu_time.values()),
                )
            ),
            in_force=None,
            model_file=None,
            note=None,
            phases=self.phases,
            so_far=self.so_far(),
        )
        return finished, weights

    def _unaltered(self, batch: Any) -> None:
        """Hold a batch as it was trained on against the text. Raises DidNotTrain."""
        honest = getattr(self.feed, "honest", self.feed)
        honest.check(batch)
