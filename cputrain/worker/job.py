"""The child process that runs one experiment: build, warm up, check, train and time, save.

It reads one JSON request from its standard input, then commands ({"do": "sample"}, with "beside"
where others take turns with it; {"do": "prove"}; {"do": "finish"}), and answers on the descriptor
whose number is its argument. The end of its input ends it. The
request: experiment, placement (mask.Placement), launched (time.monotonic at the start), folder
(for the model), offline, model_cap_bytes, start (a saved model to start from, where there is one).
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cputrain import paths
from cputrain.engines import executed, settings, specs
from cputrain.experiment import Experiment
from cputrain.experiment.parts import SIMULATED
from cputrain.knobs import inforce
from cputrain.machine import state as machine_state
from cputrain.machine.mask import Placement
from cputrain.machine.memory import peak_or_reason
from cputrain.model.counts import counts
from cputrain.record.answers import Answer, Finished, Peak, Phase, Ready, Sampled, SoFar
from cputrain.record.part import readings, typed
from cputrain.record.process import State
from cputrain.record.proof import Check
from cputrain.record.sample import Sample
from cputrain.record.work import Counts, Data
from cputrain.worker import blocks, proof, sampling, saved, serving, timing
from cputrain.worker.answering import answer, failure
from cputrain.worker.sampling import Sampler
from cputrain.worker.serving import LAUNCH_MASK
from cputrain.worker.stepper import Stepper

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.engines import Engine, Weights

STEPS_AFTER_FIRST = 20
"""Steps that follow a timed first step, for the loss to fall."""


class Job:
    """Runs one experiment and answers on `descriptor`; see the module for the messages."""

    def __init__(self, request: dict[str, Any], descriptor: int) -> None:
        self.request = request
        self.descriptor = descriptor
        self.experiment = specs.settle(Experiment.from_json(request["experiment"]))
        self.placement = Placement(**request["placement"])
        self.cpus = self.all_cpus = list(self.placement.cpus)
        self.phases = {"start_s": time.monotonic() - request["launched"]}
        self.first_loss: float | None = None
        self.warm_step_s: float | None = None

    def say(self, message: Answer) -> None:
        """Answer with one line of JSON."""
        answer(self.descriptor, message)

    @contextmanager
    def phase(self, name: str, what: str) -> Iterator[None]:
        """Time a phase into the record, and tell the launcher what is going on."""
        self.say(Phase(what=what))
        start = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = time.perf_counter() - start

    def prepare(self) -> None:
        """Everything before the first sample; answers with the report, or raises."""
        self.build()
        experiment = self.experiment
        self.sampler = Sampler(experiment, self.placement, self.stepper, self.feed)
        if experiment.runtime.compile == "eager":
            self.first_loss = self.engine.loss(self.feed.first)
        warm = checks = None
        if experiment.runtime.jit_state == "steady":
            warm, checks = self.warm_up()
            self.warm_step_s = warm.fastest_s
        self.say(
            Ready(
                readings=self.engine.readings(),
                state=readings(State, machine_state.read(self.all_cpus)),
                phases=self.phases,
                composed=self.stepper.composed,
                started_from=self.started_from,
                simulated=SIMULATED.get(experiment.training.precision),
                counts=typed(Counts, counts(experiment)),
                data=typed(Data, self.feed.facts()),
                versions={"python": platform.python_version(), **self.engine.versions()},
                in_force=checks,
                warm_up_steps=len(warm.step_s) if warm else None,
                steady=warm.steady if warm else None,
                warm_step_s=self.warm_step_s,
                no_passes=self.engine.no_passes,
            )
        )

    def build(self) -> None:
        """Import the engine, open the data, build the model."""
        inforce.require([inforce.launch_mask(self.cpus, LAUNCH_MASK)])
        experiment = self.experiment
        self.build_library()
        with self.phase("import_s", "importing the engine"):
            from cputrain import engines

            engines.load(experiment.runtime.engine)
            settings.before_work(experiment, self.placement)
        self.join()
        with self.phase("data_s", "loading data"):
            self.feed = self.open_feed()
        with self.phase("build_s", "building the model"):
            start = self.request.get("start")
            weights = saved.starting_weights(experiment, start and Path(start))
            self.started_from = saved.named(start and Path(start))
            self.engine = self.make_engine(weights)
            self.initial = self.engine.weights()  # as the precision has them
            del weights
        self.stepper = self.make_stepper()

    def join(self) -> None:
        """Meet the other processes that train the model, if there are any."""

    def open_feed(self) -> Feed:
        """The experiment's data, made first where it is not kept yet."""
        from cputrain.data import feed

        return feed.open_feed(self.experiment, paths.DATA, offline=self.request["offline"])

    def make_engine(self, weights: Weights) -> Engine:
        """The engine with these initial weights."""
        from cputrain import engines

        return engines.build(self.experiment, weights)

    def make_stepper(self) -> Stepper:
        """What trains the engine on the data."""
        return Stepper(self.experiment, self.engine, self.feed)

    def build_library(self) -> None:
        """Build what the engine needs built, where nobody did so before."""
        name = self.experiment.runtime.engine
        if specs.of(name).missing(self.experiment) is not None:
            with self.phase(f"{name}_build_s", f"building the {name} engine"):
                specs.of(name).build(self.experiment)

    def warm_up(self) -> tuple[timing.WarmUp, list[Check]]:
        """The first step, then more until their time is steady; then what is in force."""
        with self.phase("first_step_s", "in the first step"):
            self.stepper.train(1)
        with self.phase("warm_up_s", "warming up"):
            budget = self.experiment.budget
            warm = timing.warm_up(
                lambda: self.stepper.train(1), budget.warm_up_steps, budget.warm_up_s
            )
        with self.phase("check_s", "checking what is in force"):
            checks = self.in_force()
        return warm, checks

    def in_force(self) -> list[Check]:
        """What can be read back while the worker is warm; raises for what does not hold."""
        experiment, asked = self.experiment, self.placement.threads
        readings = self.engine.readings()  # first, as oneDNN tells of itself but once
        self.evidence = self.engine.evidence(self.feed.first)
        checks = [
            inforce.launch_mask(self.cpus, LAUNCH_MASK),
            inforce.thread_masks(self.cpus),
            *inforce.preloads(settings.preload(experiment)),
            *specs.of(experiment.runtime.engine).threads(asked, readings),
            *settings.checks(experiment, self.placement, readings),
            *executed.checks(experiment, self.evidence),
        ]
        inforce.require(checks)
        return checks

    def checked_again(self) -> list[Check] | None:
        """What has to be looked at again after training, in the place of what `warm_up` found."""
        if self.experiment.runtime.compile == "eager":
            return None
        return self.in_force()  # recompiled?

    def sample(self, words: Mapping[str, Any]) -> None:
        """One sample; answers with it.

        Args:
            words: "beside" is true where it was stopped just before, and is compared with another
                worker's sample that comes at once.
        """
        from cputrain.worker import gates

        steps = blocks.steps(self.experiment, self.warm_step_s)
        if words.get("beside"):
            sample = self.take(steps, blocks.discarded(self.warm_step_s), tries=1)
        else:
            sample = self.take(steps, discard=0, tries=sampling.MAX_TRIES)
        gates.steps(len(self.stepper.losses), self.engine.steps_done)
        gates.finite(self.stepper.losses)
        self.say(Sampled(sample=sample, peak=self.peak_memory(), so_far=self.so_far()))

    def take(self, steps: int, discard: int, tries: int) -> Sample:
        """The sample."""
        return self.sampler.take(steps, discard, tries)

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
        """The loss of the first batch before any step; compiled, as the first step saw it."""
        return self.stepper.losses[0] if self.first_loss is None else self.first_loss

    def prove(self) -> None:
        """Prove that the model has trained so far, answer, and live on."""
        self.say(self.proven(self.engine.weights()))

    def proven(self, weights: Weights) -> Finished:
        """What shows that the model trained; raises for what does not hold."""
        self.say(Phase(what="proving that the model trained"))
        checks = self.checked_again()
        trained, last_loss = proof.trained(
            self.experiment,
            self.engine,
            self.feed.first,
            self.initial,
            weights,
            self.start_loss,
            steps=len(self.stepper.losses),
        )
        return Finished(
            trained=trained,
            last_loss=last_loss,
            evidence={k: v for k, v in self.evidence.items() if k != "ops"},
            in_force=checks,
            model_file=None,
            note=None,
            phases=self.phases,
            so_far=self.so_far(),
        )

    def finish(self) -> None:
        """Prove that the model trained, save it, answer."""
        if self.experiment.runtime.jit_state != "steady":
            self.phases["first_step_s"] = self.stepper.training_s
            self.say(Phase(what="training on, so that there is something to prove"))
            self.stepper.train(STEPS_AFTER_FIRST)
        weights = self.engine.weights()
        with self.phase("prove_s", "proving that the model trained"):
            finished = self.proven(weights)
        self.feed.close()
        with self.phase("save_s", "saving the model"):
            cap = self.request["model_cap_bytes"]
            folder = Path(self.request["folder"])
            model_file, note = saved.save(folder, self.experiment, weights, cap)
        self.say(
            msgspec.structs.replace(finished, model_file=model_file, note=note, phases=self.phases)
        )


def main(kind: Callable[[dict[str, Any], int], Job] = Job) -> int:
    """Serve one request; 1 where it failed, which the launcher has been told.

    Args:
        kind: of job, made of the request and the descriptor.
    """
    descriptor = int(sys.argv[-1])
    serving.begin(descriptor)
    line = sys.stdin.readline()
    if not line:
        return 1
    worker = kind(json.loads(line), descriptor)
    try:
        serving.serve(worker)
    except Exception as error:
        worker.say(failure(error))
        return 1
    return 0


if __name__ == "__main__":
    serving.leave(main)
