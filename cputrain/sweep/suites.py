"""The main job: every planned suite through asv, one asv call each, then the tables."""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import IO

from cputrain import paths
from cputrain.errors import RunError
from cputrain.results import ended
from cputrain.run.cell import CellRun
from cputrain.run.session import Session
from cputrain.sweep import asvenv, environments, exporting, plan, safekeeping, time_limit
from cputrain.sweep.checkpoint import Checkpoint, wanted
from cputrain.sweep.durations import Durations
from cputrain.sweep.progress import Progress
from cputrain.sweep.promise import Promise
from cputrain.wording import counted

PATIENCE_S = 0.5
DONE = (0, 2)
"""asv's exit status; 2: some cell failed, and asv has said so in its results."""
MATCH_S = 10.0
"""Seconds for matching all cells' names: usual expressions take a hundredth of one."""


@dataclass(frozen=True)
class Choice:
    """What a sweep takes.

    Attributes:
        regexes: as asv's --bench; None is everything.
        rounds: fresh workers for each cell; None is what each suite says.
        budget_s: suites that are not expected to end within it are left out; None is no limit.
        quick: a few values of each suite.
        ipex: also what IPEX's environment runs.
        fresh: start over, instead of going on with a stopped sweep.
    """

    regexes: Sequence[str] | None = None
    rounds: int | None = None
    budget_s: float | None = None
    quick: bool = False
    ipex: bool = False
    fresh: bool = False


class Sweep:
    """Runs planned suites one after the other (see `driver.Measurement`)."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.progress = Progress(choice.rounds)
        self.left_out: list[str] = []

    def choose(self) -> list[plan.Planned]:
        """The suites and cells that it takes.

        Raises:
            UsageError: nothing matches, or matching takes too long.
        """
        choice, (known, broken) = self.choice, plan.survey()
        plan.refuse(broken, choice.regexes)
        self.broken = broken
        words = " ".join(map(repr, choice.regexes or ()))
        too_long = (
            f"--bench {words} takes more than {MATCH_S:g} s to match: write it without a "
            "repetition of repetitions"
        )
        with time_limit.within(MATCH_S, too_long):
            self.suites = plan.choose(known, choice.regexes, choice.quick, choice.ipex)
            without = [] if choice.ipex else plan.only_ipex(known, choice.regexes, choice.quick)
        self.only_with_ipex = without
        return self.suites

    def begin(self, session: Session) -> None:
        """Give the session its name, that of a stopped sweep it goes on with; say what will run."""
        choice, suites, machine = self.choice, self.suites, session.machine
        self.asvs = environments.needed(session.mode, machine, suites)
        self.estimate = Durations([paths.output_folder(machine, m) for m in paths.MODES])
        self.checkpoint = Checkpoint.open(
            paths.STATE / f"sweep-{session.mode}.json",
            wanted(session, choice.regexes, choice.rounds, suites),
            choice.fresh,
        )
        self.session = replace(
            session, id=self.checkpoint.session, events=paths.STATE / "events.jsonl"
        )
        for problem in self.broken:
            self.progress.say(f"left out: {problem.line}")
        done = self.checkpoint.done
        todo = [planned for planned in suites if planned.key not in done]
        building_s = environments.building_s(self.asvs)
        self.progress.begin(machine, suites, todo, self.estimate, building_s)
        if not choice.ipex:
            self.progress.say(environments.offer(self.only_with_ipex, session.mode, machine))
        if done:
            are = "is" if len(suites) == 1 else "are"
            self.progress.say(
                f"going on where the last run stopped: {len(done)} of "
                f"{counted(len(suites), 'suite')} {are} done (--fresh starts over)"
            )
        self.promise = Promise(todo)
        self.progress.say(self.promise.line() or "")
        budget_s = choice.budget_s
        self.until = None if budget_s is None else time.monotonic() + budget_s
        self.checkpoint.save()

    def measure(self, asv: asvenv.Asv) -> None:
        """Run every suite that is not done, and for which there is time.

        Raises:
            RunError: asv itself failed; a failed cell is not that.
        """
        for line in safekeeping.mend(asv.results, asv.copies):
            self.progress.say(line)
        environments.ipex_or_not(self.asvs, self.session.offline, self.progress)
        for planned in self.suites:
            if planned.key in self.checkpoint.done or planned.stack not in self.asvs:
                continue
            expected = self.estimate.suite_s(planned, planned.rounds(self.choice.rounds))
            if self.until is not None and time.monotonic() + expected > self.until:
                self.left_out.append(planned.key)
                continue
            self.one(planned)
            self.checkpoint = self.checkpoint.after(planned.key)

    def one(self, planned: plan.Planned) -> None:
        """Run one suite through asv and print its cells as they come.

        Raises:
            RunError: asv itself failed; a failed cell is not that.
        """
        asv, events = self.asvs[planned.stack], self.session.events
        assert events is not None
        events.write_text("")
        safekeeping.keep(asv.results, asv.copies)
        self.progress.suite(planned)
        words = ["--bench", planned.pattern(), "--record-samples"]
        words += ["--attribute", f"rounds={planned.rounds(self.choice.rounds)}"]
        session = replace(self.session, run=uuid.uuid4().hex[:12])
        process = asv.start(planned.key, words, session.to_env())
        with events.open() as file:
            while process.poll() is None:
                self._follow(file)
                try:
                    process.wait(PATIENCE_S)
                except subprocess.TimeoutExpired:
                    continue
            self._follow(file)
        if process.returncode in DONE:
            self._say_who_died(planned, session)
        self.progress.suite_done()
        kept, line = self.promise.kept(planned.name)
        self.progress.failed += not kept
        self.progress.say(line or "")
        if process.returncode not in DONE:
            raise RunError(f"asv stopped in {planned.key}: {asv.log_tail(planned.key)}")

    def _say_who_died(self, planned: plan.Planned, session: Session) -> None:
        """Cells whose process died and could not say so itself: record and count them as failed."""
        folder = paths.output_folder(session.machine, session.mode) / planned.name
        here = {cell.name: cell for cell in planned.cells if cell.why_not is None}
        workers = planned.rounds(self.choice.rounds)
        log = self.asvs[planned.stack].logs / f"{planned.key}.log"
        for name, reason in ended.without_number(folder, session.run, here, workers).items():
            session.enter()
            key = planned.suite.key(*here[name].values)
            CellRun(key, here[name].experiment).died(f"{reason}; see {log}")
            self.progress.died(name, f"{reason}; see {log}")

    def _follow(self, events: IO[str]) -> None:
        for line in events:
            self.progress.event(json.loads(line))

    def end(self) -> None:
        """Write the tables and print this sweep's; then it is finished."""
        summary = exporting.export()
        ran = [p for p in self.suites if p.key in self.checkpoint.done]
        machine = self.session.machine
        self.progress.end(summary, machine, self.suites, self.left_out, self.choice.quick)
        self.progress.without_number(summary, machine, ran)
        self.checkpoint.save(finished={p.key for p in self.suites} <= {*self.checkpoint.done})

    def stopped(self) -> str:
        """One line: what is kept of a sweep that was stopped."""
        return "what is done is kept, the next run goes on"
