"""Trains a model for a minute and says how long the whole run will take: the verb `project`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cputrain import paths
from cputrain.analysis.projection import project
from cputrain.engines import specs
from cputrain.errors import RunError, UsageError
from cputrain.experiment import Experiment
from cputrain.experiment.published import PublishedFigure
from cputrain.record import files
from cputrain.record.projection import SCHEMA, ProjectionRecord
from cputrain.report import described
from cputrain.report import projection as report
from cputrain.run import placement, stacks, suite, timed_worker
from cputrain.run.session import Session, new_name
from cputrain.sweep import asvenv, drift, plan
from cputrain.sweep.one_request import RequestProcess
from cputrain.sweep.progress import Progress


@dataclass(frozen=True)
class PlannedProjection:
    """What is to be projected.

    Attributes:
        experiment: as it was described.
        steps, done: of the whole run, and those that are behind it.
        seconds: to measure.
        start: local time at which the run starts; None is when the projection is made.
        watts, price: what the machine draws, and a kilowatt-hour's price, as far as given.
        figures: published ones of the same configuration.
    """

    experiment: Experiment
    steps: int
    done: int
    seconds: float
    start: datetime.datetime | None
    watts: float | None
    price: float | None
    figures: Sequence[PublishedFigure]


class Project:
    """Measures and projects (see `driver.Measurement`)."""

    uses_peak = False

    def __init__(self, projection: PlannedProjection) -> None:
        self.projection = projection
        self.progress = Progress()
        self.record: ProjectionRecord | None = None

    def choose(self) -> list[plan.Planned]:
        """The model, as the cell of no suite. Raises UsageError where it cannot run here."""
        experiment = specs.settle(self.projection.experiment)
        why_not = placement.why_not(experiment, stacks.MAIN)
        if why_not is not None:
            raise UsageError(f"this machine cannot run it: {why_not}")
        cell = plan.PlannedCell((0,), experiment, why_not)
        return [plan.Planned("project", "project", suite.Suite, (cell,))]

    def begin(self, session: Session) -> None:
        """Give the session its name; say what is projected."""
        name = new_name()
        self.session = replace(session, id=name, run=name)
        for line in described.lines(self.projection.experiment):
            self.progress.say(line)

    def measure(self, asv: asvenv.Asv) -> None:
        """One process. Raises RunError where it gave no number."""
        request = timed_worker.TimedRequest(
            experiment=self.projection.experiment.to_json(),
            seconds=self.projection.seconds,
            steps=self.projection.steps,
            done=self.projection.done,
        )
        self.progress.say(f"training for {self.projection.seconds:g} s")
        ended = RequestProcess(
            asv.python(), timed_worker.__name__, self.session.to_env(), stacks.MAIN
        ).serve(request)
        folder = paths.output_folder(self.session.machine, self.session.mode)
        path = timed_worker.path_of(folder, self.session.id)
        try:
            record = files.read(path, ProjectionRecord, SCHEMA)
        except (OSError, files.RecordError) as error:
            raise RunError(f"the worker left no record: its process ended with {ended}") from error
        if not record.worker.ok:
            raise RunError(f"no number: {record.worker.status}: {record.worker.reason}")
        self.record = record

    def end(self) -> None:
        """Print the projection."""
        assert self.record is not None
        machine, worker = self.session.machine, self.record.worker
        known = project(self.record, drift.recorded(machine, worker))
        start = self.projection.start or datetime.datetime.now()
        tokens = self.projection.experiment.training.tokens_per_step
        for line in report.lines(known, tokens, start, self.projection.figures):
            self.progress.say(line)
        no_counter = worker.samples[0].noise.reasons.get("energy_j", "no counter")
        self.progress.say(
            report.cost(known, self.projection.watts, self.projection.price, no_counter) or ""
        )

    def stopped(self) -> str:
        """One line: what is kept of a run that was stopped."""
        return "nothing was projected"
