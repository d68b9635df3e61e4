"""The main job: every planned suite through asv, in passes over the cells, then the tables."""

from __future__ import annotations

import math
import time
import uuid
from dataclasses import replace

from cputrain import paths
from cputrain.errors import RunError
from cputrain.results import records, stored
from cputrain.run import compiled, measured
from cputrain.run.session import Session
from cputrain.sweep import (
    asv_call,
    asvenv,
    calls,
    checkpoint,
    environments,
    exporting,
    going_on,
    long_cells,
    noise_cells,
    passes,
    plan,
    safekeeping,
    selection,
)
from cputrain.sweep.checkpoint import SweepCheckpoint
from cputrain.sweep.console import minutes
from cputrain.sweep.durations import Durations
from cputrain.sweep.fitting import fit, lacking
from cputrain.sweep.progress import Progress
from cputrain.sweep.promise import Promise
from cputrain.sweep.selection import Choice

CLOSING_S = 10.0
"""Of them, kept for the peaks that are measured again and for the tables."""
LEAST_S = 15.0
"""A further pass is not begun with less."""
DONE = (0, 2)
"""asv's exit status; 2: some cell failed, and asv has said so in its results."""


class Sweep:
    """Runs planned suites one after the other (see `driver.Measurement`)."""

    uses_peak = True

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.progress = Progress()
        self.left_out: list[plan.Planned] = []
        self.in_part: list[str] = []
        self.pairs: dict[str, int] = {}

    def choose(self) -> list[plan.Planned]:
        """The suites and cells that it takes.

        Raises:
            UsageError: nothing matches, or matching takes too long.
        """
        choice, (known, broken) = self.choice, plan.survey()
        plan.refuse(broken, choice.regexes)
        self.broken = broken
        suites, self.only_with_ipex = selection.take(choice, known)
        self.suites, self.noise_cells = noise_cells.complete(suites, known)
        apart = choice.leaves_out and not choice.quick
        self.parts = long_cells.apart(self.suites) if apart else self.suites
        return self.suites

    def begin(self, session: Session) -> None:
        """Give the session its name, that of a stopped sweep it goes on with; say what will run."""
        choice, suites, machine = self.choice, self.suites, session.machine
        self.asvs = environments.needed(session.mode, machine, suites)
        path = checkpoint.file(session.mode, choice.regexes)
        wanted = checkpoint.wanted(session, choice.regexes, suites)
        self.checkpoint = SweepCheckpoint.open(path, wanted, choice.fresh, choice.passes)
        self.session = replace(
            session,
            id=self.checkpoint.session,
            events=paths.STATE / "events.jsonl",
            driven=True,
        )
        places = (
            place
            for mode in paths.MODES
            for place in stored.find(paths.ROOT, machine, records.FILE, mode)
        )
        self.estimate = Durations(places, measured.kept(self.session))
        for problem in self.broken:
            self.progress.say(f"left out: {problem.line}")
        first = self.checkpoint.number == 1
        todo = [p for p in self.parts if first and p.key not in self.checkpoint.done]
        building_s = environments.building_s(self.asvs)
        self.progress.begin(machine, suites, todo, self.estimate, building_s)
        self.progress.say(noise_cells.line(self.noise_cells) or "")
        if not choice.ipex:
            self.progress.say(environments.offer(self.only_with_ipex, session.mode, machine))
        if choice.leaves_out:
            limit = f"it stops after {minutes(choice.budget_s)} of measuring"
            if choice.whole_s < math.inf:
                limit += ", less where the set-up takes long"
            self.progress.say(f"{limit}; the next run goes on from there")
        self.progress.say(going_on.line(self.session, self.checkpoint, choice.fresh))
        self.promise = Promise(suites)
        self.progress.say(self.promise.line() or "")
        self.checkpoint.save()

    def measure(self, asv: asvenv.Asv) -> None:
        """Take the first pass over every cell, then others over those that are open.

        Raises:
            RunError: asv itself failed; a failed cell is not that.
        """
        self.until = self.choice.until(self.progress.started, time.monotonic()) - CLOSING_S
        if self.choice.leaves_out:
            self.progress.stop_at(self.until)
        for line in safekeeping.mend(asv.results, asv.copies):
            self.progress.say(line)
        for each in self.asvs.values():
            safekeeping.keep(each.results, each.copies)
        environments.ipex_or_not(self.asvs, self.session.offline, self.progress)
        known = [planned for planned in self.suites if planned.stack in self.asvs]
        if self.checkpoint.number == 1:
            parts = [part for part in self.parts if part.stack in self.asvs]
            self._take(parts, self.estimate.suites_s(parts))
            if self.left_out or len(known) < len(self.suites):  # the next run takes them up
                return
            self.checkpoint = self.checkpoint.next_pass()
        self.take_open(known)

    def take_open(self, known: list[plan.Planned]) -> None:
        """Further passes over the cells that are open, until nothing is or there is no time."""
        while not self._has_all_passes():
            if self.until - time.monotonic() < LEAST_S:
                return
            if self.checkpoint.chosen is None:
                further = passes.further(self.session, known, self.estimate, self.until)
                if not further.suites:
                    return
                self.checkpoint = self.checkpoint.planned(further.kept())
            else:
                further = passes.again(self.checkpoint.chosen, known)
            self.pairs = further.pairs
            todo = [p for p in further.suites if p.key not in self.checkpoint.done]
            suites_s = {planned.key: further.suites_s[planned.key] for planned in todo}
            if todo:
                self.progress.again(self.checkpoint.number, todo, suites_s)
                self._take(todo, suites_s)
            self.checkpoint = self.checkpoint.next_pass()

    def _take(self, suites: list[plan.Planned], suites_s: dict[str, float]) -> None:
        """The asv calls of a pass, as far as there is time: in the first one with suites in part.

        A further pass was made to fit: its first suite is begun in any case, so that no pass is
        said that measures nothing.
        """
        todo = [planned for planned in suites if planned.key not in self.checkpoint.done]
        first, begun = self.checkpoint.number == 1, False
        for call in calls.calls(todo, suites_s):
            left_s = self.until - time.monotonic()
            if first and not self.choice.leaves_out:
                left_s = math.inf
            elif not first and not begun:
                left_s = max(left_s, suites_s[call.suites[0].key] + 1.0)
            cell_s = self.estimate.cell_s if first else None  # later a cell has a number already
            fitting = fit(call.suites, suites_s, cell_s, left_s)
            self.left_out += fitting.left_out if first else []
            self.in_part += fitting.in_part
            if fitting.suites:
                begun = True
                self.run(calls.Call(tuple(fitting.suites)))
                self.checkpoint = self.checkpoint.after(fitting.whole)

    def run(self, call: calls.Call) -> None:
        """Run some suites through asv and print their cells as they come.

        Raises:
            RunError: asv itself failed; a failed cell is not that.
        """
        asv = self.asvs[call.stack]
        self.progress.call(call.suites)
        words = ["--bench", call.pattern(), "--record-samples"]
        number = self.checkpoint.number
        if number > 1:
            words += ["--append-samples"]
        pairs = self.pairs if number > 1 else {}
        session = replace(self.session, run=uuid.uuid4().hex[:12], number=number, pairs=pairs)
        ended = asv_call.run(call, asv, session, words, self.progress)
        is_done = ended.status in DONE and ended.why_lost is None
        safekeeping.keep(asv.results, asv.copies)  # before the checkpoint says that it is done
        if is_done:
            for planned in call.suites:
                log = asv.logs / f"{call.name}.log"
                asv_call.record_deaths(planned, session, log, self.progress)
        self.progress.call_done()
        for planned in call.suites:
            kept, line = self.promise.kept(planned.name)
            self.progress.failed += not kept
            self.progress.say(line or "")
        if ended.why_lost is not None:
            raise RunError(f"{call.name}: {ended.why_lost}; {asvenv.GOES_ON}")
        if not is_done:
            raise RunError(asv.why_stopped(call.name, ended.status))

    def end(self) -> None:
        """Write the tables and print this sweep's; then it is finished."""
        summary = exporting.export()
        left_out = {planned.suite_key for planned in self.left_out}
        known = [planned for planned in self.suites if planned.stack in self.asvs]
        ran = [planned for planned in known if planned.key not in left_out]
        machine = self.session.machine
        lacks = lacking(self.parts, self.left_out, self.in_part)
        self.progress.end(summary, machine, self.suites, lacks, self.choice.quick)
        self.progress.without_number(summary, machine, ran)
        is_whole = len(ran) == len(self.suites)
        finished = is_whole and not self._open()
        all_passes = self.choice.passes if is_whole and self._has_all_passes() else None
        replace(self.checkpoint, all_passes=all_passes).save(finished)
        if finished:
            measured.forget(self.session)
        compiled.remove(self.session)

    def _has_all_passes(self) -> bool:
        """Whether it has taken as many passes as it may."""
        return self.choice.passes is not None and self.checkpoint.number > self.choice.passes

    def _open(self) -> bool:
        """Whether another pass would tell more."""
        if self.checkpoint.chosen is not None:  # a pass that was stopped, and not gone on with yet
            return True
        return bool(passes.further(self.session, self.suites, self.estimate, math.inf).suites)

    def stopped(self) -> str:
        """One line: what is kept of a sweep that was stopped."""
        return "what is done is kept, the next run goes on"
