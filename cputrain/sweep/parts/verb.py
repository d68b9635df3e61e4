"""Where the time of a step goes: one worker for each shape and engine, its steps watched."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cputrain import paths
from cputrain.engines import parts as engines_parts
from cputrain.errors import UsageError
from cputrain.record.parts import PartsRecord
from cputrain.report import parts as report
from cputrain.results import parts as records
from cputrain.results.records import Problem
from cputrain.run import watched_worker
from cputrain.run.session import Session, new_name
from cputrain.sweep import asvenv, exporting, plan
from cputrain.sweep.console import seconds
from cputrain.sweep.one_request import RequestProcess
from cputrain.sweep.progress import Progress
from cputrain.sweep.side_by_side.lineup import SHAPES


class Parts:
    """Watches the steps of each engine at each shape (see `driver.Measurement`).

    Args:
        engines: which of them; empty for all that can tell.
    """

    uses_peak = True

    def __init__(self, engines: Collection[str]) -> None:
        self.engines = engines
        self.progress = Progress()
        self.done = 0

    def choose(self) -> list[plan.Planned]:
        """The shapes, each with the engines that can tell. Raises UsageError."""
        known, broken = plan.survey()
        plan.refuse(broken, SHAPES)
        self.blocks = [
            replace(planned, cells=tuple(c for c in planned.cells if self._takes(c)))
            for planned in known
            if planned.name in SHAPES
        ]
        if not any(block.cells for block in self.blocks):
            raise UsageError(f"no suite of {', '.join(SHAPES)} has an engine that was asked for")
        return self.blocks

    def _takes(self, cell: plan.PlannedCell) -> bool:
        wanted = not self.engines or cell.engine in self.engines
        return wanted and engines_parts.can_watch(cell.engine)

    def begin(self, session: Session) -> None:
        """Give the session its name; say what is watched."""
        name = new_name()
        self.session = replace(session, id=name, run=name)
        names = dict.fromkeys(cell.name for block in self.blocks for cell in block.cells)
        shapes = " and ".join(block.name for block in self.blocks)
        self.progress.say(f"{session.machine}: the parts of a step of {', '.join(names)}; {shapes}")

    def measure(self, asv: asvenv.Asv) -> None:
        """One process for each."""
        for block in self.blocks:
            for cell in block.cells:
                self._watch(asv, block.name, cell)

    def _watch(self, asv: asvenv.Asv, shape: str, cell: plan.PlannedCell) -> None:
        request = watched_worker.WatchRequest(
            shape=shape, engine=cell.name, experiment=cell.experiment.to_json()
        )
        process = RequestProcess(
            asv.python(), watched_worker.__name__, self.session.to_env(), cell.stack
        )
        ended = process.serve(request)
        folder = paths.output_folder(self.session.machine, self.session.mode)
        path = watched_worker.path_of(folder, shape, cell.name)
        record = records.read_file(path, self.session.machine)
        name = f"{shape} {cell.name}"
        if ended.status or not isinstance(record, PartsRecord) or not self._is_of_now(record):
            why = record if isinstance(record, Problem) else f"its process ended with {ended}"
            self.progress.failed += 1
            self.progress.say(f"{name}: failed: {why}")
        else:
            self._say(name, record)

    def _is_of_now(self, record: PartsRecord) -> bool:
        return record.worker.session == self.session.id

    def _say(self, name: str, record: PartsRecord) -> None:
        worker = record.worker
        if not worker.ok or record.watched is None:
            self.progress.failed += worker.status != "skipped"
            self.progress.say(f"{name}: {worker.status}: {worker.reason}")
            return
        self.done += 1
        step_s = worker.samples[0].median_s
        steps = len(record.watched.step_s)
        self.progress.say(f"{name}: {seconds(step_s)} a step, {steps} steps watched")

    def end(self) -> None:
        """Write the pages and print what that of the parts opens with."""
        machine, summary = self.session.machine, exporting.export()
        rows, _ = report.read(paths.ROOT, machine)
        for shape, engine, run in report.runs(rows):
            self.progress.say(f"{shape} {engine}: {report.opening(run)}")
            if run[0]["part"] is not None:
                self.progress.say(f"    {report.largest(run)}")
        for problem in dict.fromkeys(map(str, summary.problems)):
            self.progress.say(f"problem: {problem}")
        if rows:
            self.progress.say(f"tables: result/{machine}/parts.md and parts.csv")

    def stopped(self) -> str:
        """One line: what is kept of a run that was stopped."""
        return f"{self.done} records are kept, the page is as it was"
