"""Measures the pairs of claims in passes, and what runs altered, then writes the verdicts."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace

from cputrain import paths
from cputrain.analysis import open_cells
from cputrain.analysis.claims import judge, table
from cputrain.analysis.claims.claim import ClaimPair, Demonstration
from cputrain.analysis.claims.faulty import passed
from cputrain.analysis.claims.judge import Judged
from cputrain.analysis.claims.rules import UNTOLD
from cputrain.engines import specs
from cputrain.errors import RunError
from cputrain.record.worker import WorkerRecord
from cputrain.run import compiled, placement, recording, stacks, suite
from cputrain.run.conductor.client import Listening
from cputrain.run.failed import CellFailed
from cputrain.run.session import Session, new_name
from cputrain.sweep import asvenv, exporting, plan
from cputrain.sweep.claims.processes import Processes
from cputrain.sweep.claims.shown import ClaimsPrinter
from cputrain.sweep.durations import guess_s
from cputrain.sweep.progress import Progress
from cputrain.wording import counted


class Claims:
    """Decides claims (see `driver.Measurement`).

    Args:
        ids: of the claims; all where there are none.
        budget_s: seconds of measuring, about; what does not fit is for the next run.
        fresh: start over, instead of going on with what was measured at this commit.
    """

    uses_peak = False

    def __init__(self, ids: Sequence[str], budget_s: float, fresh: bool) -> None:
        self.ids, self.budget_s, self.fresh = ids, budget_s, fresh
        self.progress = Progress()
        self.left_out: list[str] = []

    def choose(self) -> list[plan.Planned]:
        """The experiments of the claims, as cells of no suite. Raises UsageError."""
        self.claims = table.chosen(self.ids)
        demonstrations = table.demonstrations(self.claims)
        self.identical, self.pairs = table.identical(self.claims), table.pairs(self.claims)
        every: list[ClaimPair | Demonstration] = [*self.identical, *self.pairs, *demonstrations]
        sides = (side for each in every for side in (each.experiment, each.reference))
        cells = []
        for number, experiment in enumerate(map(specs.settle, sides)):
            why_not = placement.why_not(experiment, stacks.of(experiment))
            cells.append(plan.PlannedCell((number,), experiment, why_not))
        return [plan.Planned("claims", "claims", suite.Suite, tuple(cells))]

    def begin(self, session: Session) -> None:
        """Give the session its name, that of the one it goes on with; say what will be done."""
        name = new_name()
        earlier = None if self.fresh else self._earlier(session.machine)
        self.session = replace(session, id=earlier or name, run=uuid.uuid4().hex[:12])
        self.shown = ClaimsPrinter(self.progress)
        seconds = sum(guess_s(pair.experiment.but(samples=pair.blocks)) for pair in self.pairs)
        self.progress.say(
            f"{session.machine}: {counted(len(self.claims), 'claim')}, "
            f"{counted(len(self.pairs), 'pair')} of experiments, "
            f"about {max(1, round(seconds / 60))} min for each of them once (a guess)"
        )
        if earlier:
            self.progress.say("going on with earlier pairs of this commit (--fresh starts over)")

    @staticmethod
    def _earlier(machine: str) -> str | None:
        """The session of the newest worker, if it ran at this commit; None else."""
        head = recording.commit()[0]
        cells = judge.judge(paths.ROOT, machine).cells
        newest = max((w for c in cells for w in c.workers), key=lambda w: w.started, default=None)
        return newest.session if newest is not None and newest.commit == head else None

    def measure(self, asv: asvenv.Asv) -> None:
        """A first pass over what has no number, then others over what is open, while time is."""
        self.until = time.monotonic() + self.budget_s
        self.processes = Processes(asv.python(), self.session)
        first = [pair for pair in self.pairs if not self._measured(pair)]
        number = max((self._passes(pair) for pair in self.pairs), default=0) or 1
        self._demonstrate()
        if first:
            self._pass(first, number)
        again = {claim.id for claim in self.claims} if self.ids and not first else set()
        while pairs := self._open(again):
            number, again = number + 1, set()
            if not self._pass(pairs, number):
                return

    def _passes(self, pair: ClaimPair) -> int:
        return len(self._measured(pair))

    def _measured(self, pair: ClaimPair) -> list[WorkerRecord]:
        return [worker for worker in self.processes.workers(pair) if worker.ok]

    def _open(self, again: set[str]) -> list[ClaimPair]:
        """Pairs that another pass may tell more of.

        Args:
            again: claims that were chosen by name and have been measured: they get a pass.
        """
        judged = self._judged()
        wanted = {claim.id for claim in self.claims}
        untold = open_cells.untold(judged.analysis, self.session.id)
        names = {value for _, value in untold} | {
            name
            for verdict in judged.verdicts
            if verdict.id in wanted and verdict.verdict == UNTOLD and verdict.further_passes
            for name in verdict.pairs
        }
        named = {pair for claim in self.claims if claim.id in again for pair in claim.pairs}
        return [pair for pair in self.pairs if pair.name in names or pair in named]

    def _pass(self, pairs: Sequence[ClaimPair], number: int) -> bool:
        """One pass of some pairs beside fresh references; whether all had the time.

        Pairs of the same experiment come before and after: what they differ by is noise.
        """
        self.progress.say(f"pass {number}: {counted(len(pairs), 'pair')}")
        todo = [*self.identical, *sorted(pairs, key=self._light_first)]
        for group in (todo, self.identical if number == 1 else []):
            self.processes.session = replace(self.session, run=uuid.uuid4().hex[:12])
            try:
                conductor = Listening(self.processes.python, self.processes.session.to_env())
            except CellFailed as failure:
                raise RunError(failure.reason) from failure
            try:
                for pair in group:
                    takes_s = guess_s(pair.experiment.but(samples=pair.blocks))
                    if time.monotonic() + takes_s / 2 > self.until:
                        self.left_out.append(pair.name)
                        continue
                    self._take(pair, number, conductor)
            finally:
                conductor.close()
        return not self.left_out

    def _light_first(self, pair: ClaimPair) -> float:
        """References with quick steps first: those of a run that is stopped early tell more."""
        return guess_s(pair.reference)

    def _take(self, pair: ClaimPair, number: int, conductor: Listening) -> None:
        worker = self.processes.pair(pair, number, conductor.path)
        self.shown.pair(pair, worker, self.until - time.monotonic())

    def _demonstrate(self) -> None:
        """Run what is altered and was not run in this session."""
        for claim in self.claims:
            demonstration = claim.demonstration
            if demonstration is None or time.monotonic() > self.until:
                self.left_out += [demonstration.name] if demonstration is not None else []
                continue
            if not self._is_shown(demonstration):
                self.shown.demonstration(
                    claim, demonstration, self.processes.demonstration(demonstration)
                )

    def _is_shown(self, demonstration: Demonstration) -> bool:
        """Whether this session has it, with two rounds that nobody disturbed: one tells little."""
        known = self.processes.demonstrated(demonstration)
        if isinstance(known, str) or known.session != self.session.id:
            return False
        rounds = passed(known.altered, known.reference)
        return known.status == "ok" and rounds is not None and len(rounds.log_ratios) > 1

    def _judged(self) -> Judged:
        return judge.judge(paths.ROOT, self.session.machine)

    def end(self) -> None:
        """Write the tables and the page of verdicts, print these."""
        summary = exporting.export()
        judged = self._judged()
        wanted = {claim.id for claim in self.claims}
        verdicts = [verdict for verdict in judged.verdicts if verdict.id in wanted]
        self.shown.verdicts(verdicts)
        for problem in dict.fromkeys(map(str, summary.problems)):
            self.progress.say(f"problem: {problem}")
        names = set(self.left_out) - {pair.name for pair in self.identical}
        if names:
            left_out = counted(len(names), "pair or demonstration",
                               "pairs and demonstrations")  # fmt: skip
            self.progress.say(f"{left_out} left out for lack of time; the next run goes on")
        self.progress.say(f"verdicts: result/{self.session.machine}/claims.md")
        compiled.remove(self.session)

    def stopped(self) -> str:
        """One line: what is kept."""
        return "the pairs that are done are kept, the next run goes on"
