"""What a worker does before its first sample: build, train until it is warm, check, report."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cputrain import paths
from cputrain.engines import executed, settings, specs
from cputrain.errors import DidNotTrain
from cputrain.experiment import Experiment
from cputrain.experiment.parts import SIMULATED
from cputrain.knobs import inforce
from cputrain.machine import malloc
from cputrain.machine import state as machine_state
from cputrain.machine.reading import Unknown
from cputrain.model import shapes
from cputrain.model.counts import counts
from cputrain.record.answers import Phase, Ready
from cputrain.record.evidence import Evidence
from cputrain.record.part import Part, readings, typed
from cputrain.record.process import State
from cputrain.record.proof import Check
from cputrain.record.requests import JobRequest
from cputrain.record.work import Counts, Data
from cputrain.worker import saved, timing, watch
from cputrain.worker.answering import answer
from cputrain.worker.sampling import Sampler
from cputrain.worker.serving import LAUNCH_MASK
from cputrain.worker.step_delays import StepDelays
from cputrain.worker.stepper import Stepper

if TYPE_CHECKING:
    from cputrain.data.feed import Feed
    from cputrain.engines import Engine, Weights


PARAMETER_BYTES = 4
"""Of a parameter in a checkpoint, which is fp32."""


class Preparation:
    """Makes a worker ready to sample.

    Args:
        request: what it is to run.
        descriptor: to answer on.

    Attributes:
        phases: seconds of each part of its life so far.
        first_loss: of the first batch before any step; None until the proof where steps compile.
        warm_step_s: the fastest step of the warm-up; None where a first step is timed.
        evidence: what a step executed, when `in_force` looked last.
        gradients_hold: whether it saw that all that is trained has a gradient.
    """

    evidence: Evidence

    def __init__(self, request: JobRequest, descriptor: int) -> None:
        self.request = request
        self.descriptor = descriptor
        self.experiment = specs.settle(Experiment.from_json(request.experiment))
        self.placement = request.placement
        self.cpus = self.all_cpus = list(self.placement.cpus)
        self.phases = {"start_s": time.monotonic() - request.launched}
        self.first_loss: float | None = None
        self.warm_step_s: float | None = None
        self.gradients_hold = False

    def say(self, message: Part) -> None:
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
            start = None if self.request.start is None else Path(self.request.start)
            weights = saved.starting_weights(experiment, start)
            self.started_from = saved.named(start)
            self.engine = self.make_engine(weights)
            self.initial = self.engine.weights()  # as the precision has them
            del weights
        self.stepper = self.make_stepper()
        # As in a run that has written its first checkpoint. Else a reference, which has proven that
        # it trains, would differ from a cell, which has not yet.
        malloc.raise_thresholds(PARAMETER_BYTES * shapes.n_params(experiment))

    def join(self) -> None:
        """Meet the other processes that train the model, if there are any."""

    def open_feed(self) -> Feed:
        """The experiment's data, made first where it is not kept yet."""
        from cputrain.data import feed

        return feed.open_feed(self.experiment, paths.DATA, offline=self.request.offline)

    def make_engine(self, weights: Weights) -> Engine:
        """The engine with these initial weights."""
        from cputrain import engines

        return engines.build(self.experiment, weights)

    def make_stepper(self) -> Stepper:
        """What trains the engine on the data."""
        return Stepper(self.experiment, self.engine, self.feed, self._delays())

    def _delays(self) -> StepDelays | None:
        """What reads how long others hold up each step; None where that cannot be told."""
        training, spec = self.experiment.training, specs.of(self.experiment.runtime.engine)
        is_whole = self.experiment.budget.micro_batches in (None, training.grad_accum)
        if not (is_whole and watch.each_has_a_cpu(spec, self.placement, self.feed)):
            return None
        with suppress(Unknown):  # the readings of each sample say so
            return StepDelays(self.placement.threads)
        return None

    def build_library(self) -> None:
        """Build what the engine needs built, where nobody did so before."""
        name = self.experiment.runtime.engine
        if specs.of(name).missing(self.experiment) is not None:
            with self.phase(f"{name}_build_s", f"building the {name} engine"):
                specs.of(name).build(self.experiment)

    def warm_up(self) -> tuple[timing.WarmUp, list[Check]]:
        """The first step, then more until their time is steady; then what is in force."""
        with self.phase("first_step_s", "in the first step"):
            (first_s,) = timing.timed(lambda: self.stepper.train(1), 1)
        with self.phase("warm_up_s", "warming up"):
            budget = self.experiment.budget
            warm = timing.warm_up(
                lambda: self.stepper.train(1),
                budget.warm_up_steps,
                budget.warm_up_s,
                first_s=first_s,
            )
        with self.phase("check_s", "checking what is in force"):
            checks = self.in_force()
        return warm, checks

    def in_force(self) -> list[Check]:
        """What can be read back while the worker is warm; raises for what does not hold."""
        experiment, threads = self.experiment, self.placement.threads
        readings = self.engine.readings()  # first, as oneDNN tells of itself but once
        looked = self.engine.looked(self.feed.first)
        self.evidence = looked.evidence
        if looked.gradients is not None:
            self._hold_gradients(looked.gradients)
        checks = [
            inforce.launch_mask(self.cpus, LAUNCH_MASK),
            inforce.thread_masks(self.cpus),
            *inforce.preloads(settings.preload(experiment)),
            *specs.of(experiment.runtime.engine).threads(threads, readings),
            *settings.checks(experiment, self.placement, readings),
            *executed.checks(experiment, self.evidence),
        ]
        inforce.require(checks)
        return checks

    def _hold_gradients(self, gradients: Weights) -> None:
        from cputrain.worker import gates  # imports NumPy, whose time is the engine's

        self.gradients_hold = False
        with suppress(DidNotTrain):  # the proof looks again then, and says why
            gates.gradients(gradients, shapes.trained(self.experiment))
            self.gradients_hold = True
