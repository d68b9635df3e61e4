"""The child process that runs one experiment: build, warm up, check, train and time, save.

It reads a `JobRequest` from its standard input, then commands (`record.requests`), and answers
(`record.answers`) on the descriptor whose number is its argument. The end of its input ends it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from cputrain.machine.memory import peak_or_reason
from cputrain.record import requests
from cputrain.record.answers import Finished, Peak, Phase, Sampled, SoFar
from cputrain.record.evidence import encoded
from cputrain.record.part import readings
from cputrain.record.proof import Check
from cputrain.record.requests import JobRequest, SampleCommand
from cputrain.record.sample import Sample
from cputrain.worker import blocks, proof, sampling, saved, serving
from cputrain.worker.answering import answer, failure
from cputrain.worker.preparation import Preparation

if TYPE_CHECKING:
    from cputrain.engines import Weights

STEPS_AFTER_FIRST = 20
"""Steps that follow a timed first step, for the loss to fall."""


class Job(Preparation):
    """Runs one experiment: samples, then the proof that it trained."""

    def checked_again(self) -> list[Check] | None:
        """What has to be looked at again after training, in the place of what `warm_up` found."""
        if self.experiment.runtime.compile == "eager":
            return None
        return self.in_force()  # recompiled?

    def sample(self, command: SampleCommand) -> None:
        """One sample; answers with it."""
        from cputrain.worker import gates

        steps = command.steps or blocks.steps(self.experiment, self.warm_step_s)
        if command.steps is not None:
            sample = self.take(steps, discard=0, tries=1)
        elif command.beside:
            sample = self.take(steps, blocks.discarded(self.warm_step_s), tries=1)
        else:
            long = steps * (self.warm_step_s or 0.0) > sampling.AGAIN_S
            sample = self.take(steps, discard=0, tries=1 if long else self.experiment.budget.tries)
        gates.steps(len(self.stepper.losses), self.engine.steps_done)
        gates.finite(self.stepper.losses)
        self.say(Sampled(sample=sample, peak=self.peak_memory(), so_far=self.so_far()))

    def take(self, steps: int, discard: int, tries: int) -> Sample:
        """The sample."""
        return self.sampler.take(steps, discard, tries, self.warm_step_s)

    def peak_memory(self) -> Peak:
        """The most that was held so far: training's, asked before proofs and saving."""
        return readings(Peak, peak_or_reason("peak_rss_bytes"))

    def so_far(self) -> SoFar:
        """What a record holds at any time."""
        return SoFar(
            first_loss=self.start_loss,
            steps_done=self.engine.steps_done,
            training_s=self.stepper.training_s,
            optimizer_state_bytes=self.engine.state_bytes(),
        )

    @property
    def start_loss(self) -> float:
        """The loss of the first batch before any step; until it is known, that of the first step.

        objective = "forward" keeps the latter, which is the same: one batch, without dropout.
        """
        return self.stepper.losses[0] if self.first_loss is None else self.first_loss

    def ask_first_loss(self, weights: Weights) -> None:
        """Ask what a compiled engine was not asked before its first step.

        Args:
            weights: the present ones.
        """
        if self.first_loss is None and self.experiment.training.objective != "forward":
            self.first_loss = proof.start_loss(self.engine, self.feed.first, self.initial, weights)

    def prove(self) -> None:
        """Prove that the model has trained so far, answer, and live on."""
        finished, _ = self.proven()
        self.say(finished)

    def proven(self) -> tuple[Finished, saved.Weights]:
        """What shows that the model trained, and its weights; raises for what does not hold."""
        from cputrain.worker import gates

        self.say(Phase(what="proving that the model trained"))
        checks, weights = self.checked_again(), self.engine.weights()
        self.ask_first_loss(weights)
        last_loss, spike = self.last_loss()
        if spike is not None:  # it has trained on
            checks, weights = self.checked_again(), self.engine.weights()
            gates.steps(len(self.stepper.losses), self.engine.steps_done)
            gates.finite(self.stepper.losses)
        trained = proof.trained(
            self.experiment,
            self.engine,
            self.feed.first,
            self.initial,
            weights,
            (self.start_loss, last_loss),
            steps=len(self.stepper.losses),
            gradients_hold=self.gradients_hold,
        )
        finished = Finished(
            trained=structs.replace(trained, spike_loss=spike),
            last_loss=last_loss,
            evidence=encoded(self.evidence),
            in_force=checks,
            model_file=None,
            note=None,
            phases=self.phases,
            so_far=self.so_far(),
        )
        return finished, weights

    def last_loss(self) -> tuple[float, float | None]:
        """See `proof.past_spike`; a model that only ran forward has none to pass."""
        if self.experiment.training.objective == "forward":
            return self.engine.loss(self.feed.first), None
        return proof.past_spike(self.engine, self.feed.first, self.start_loss, self.stepper.train)

    def finish(self) -> None:
        """Prove that the model trained, save it, answer."""
        if self.experiment.runtime.jit_state != "steady":
            self.phases["first_step_s"] = self.stepper.training_s
            self.say(Phase(what="training on, so that there is something to prove"))
            self.stepper.train(STEPS_AFTER_FIRST)
        with self.phase("prove_s", "proving that the model trained"):
            finished, weights = self.proven()
        self.feed.close()
        with self.phase("save_s", "saving the model"):
            folder, cap = Path(self.request.folder), self.request.model_cap_bytes
            model_file, note = saved.save(folder, self.experiment, weights, cap)
        self.say(structs.replace(finished, model_file=model_file, note=note, phases=self.phases))


def main(kind: Callable[[JobRequest, int], Job] = Job) -> int:
    """Serve one request; 1 where it failed, which the launcher has been told.

    Args:
        kind: of job, made of the request and the descriptor.
    """
    descriptor = int(sys.argv[-1])
    serving.begin(descriptor)
    line = sys.stdin.readline()
    if not line:
        return 1
    try:
        serving.serve(kind(requests.decode_request(line), descriptor))
    except Exception as error:
        answer(descriptor, failure(error))
        return 1
    return 0


if __name__ == "__main__":
    serving.leave(main)
