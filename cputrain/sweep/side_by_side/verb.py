"""Every engine beside torch, on the same work: one table, with ratios to torch."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from cputrain import paths
from cputrain.run import names, stacks
from cputrain.run.session import Session, new_name
from cputrain.sweep import asvenv, exporting, plan
from cputrain.sweep.paired.conducted import Conducted
from cputrain.sweep.progress import Progress
from cputrain.sweep.side_by_side import lineup, outcome
from cputrain.sweep.side_by_side.rounds import Rounds
from cputrain.sweep.side_by_side.shown import TurnsPrinter


class SideBySide:
    """Runs all engines in turns (see `driver.Measurement`).

    Args:
        rounds: fresh workers for each cell.
        seed: of the order.
        inductor: also torch.compile.
    """

    uses_peak = True

    def __init__(self, rounds: int, seed: int, inductor: bool) -> None:
        self.rounds, self.seed, self.inductor = rounds, seed, inductor
        self.progress = Progress()

    def choose(self) -> list[plan.Planned]:
        """Shapes, each with all engines. Raises UsageError."""
        known, broken = plan.survey()
        plan.refuse(broken, lineup.SHAPES)
        self.blocks = lineup.blocks(known, self.inductor)
        return self.blocks

    def begin(self, session: Session) -> None:
        """Give the session its name; say which engines take how many turns."""
        name = new_name()
        self.session = replace(session, id=name, run=name)
        self.turns = list(lineup.turns(self.blocks, self.rounds, self.seed))
        self.shown = TurnsPrinter(self.progress, self.turns)
        self.shown.begin(session.machine, self.blocks, self.rounds, self.seed)
        folder = paths.output_folder(session.machine, session.mode) / names.SUITE
        self.run = Rounds(folder, {}, self.seed)

    def measure(self, asv: asvenv.Asv) -> None:
        """Take every turn. Raises RunError where a conductor does not start."""
        with contextlib.ExitStack() as stack:
            conducted = {}
            for name, python in pythons(asv).items():
                conducted[name] = Conducted(name, python, self.session, stack=name)
                stack.callback(conducted[name].close)
            self.run.of = conducted
            self.run.take(self.turns, self.shown.turn)

    def end(self) -> None:
        """Write the tables, print this run's."""
        machine, mode = self.session.machine, self.session.mode
        cells = outcome.cells(machine, mode, self.blocks, self.run)
        written = outcome.write(machine, mode, cells)
        summary = exporting.export()
        self.shown.table(written.rows)
        failed = sum(row["status"] not in ("ok", "skipped") for row in written.rows)
        self.progress.failed = max(self.progress.failed, failed)
        for problem in dict.fromkeys(map(str, (*written.problems, *summary.problems))):
            self.progress.say(f"problem: {problem}")
        self.progress.say(f"tables: result/README.md and {written.path.relative_to(paths.ROOT)}")

    def stopped(self) -> str:
        """One line: what is kept of a run that was stopped."""
        kept = f"the records of {self.run.done} of {len(self.turns)} workers are kept"
        return f"{kept} in {self.run.folder}, the table is as it was"


def pythons(asv: asvenv.Asv) -> dict[str, Path]:
    """The interpreter of each environment: the measured stack's, and IPEX's where it is built."""
    ipex = asvenv.Asv(asv.mode, asv.machine, stacks.IPEX).python()
    return {stacks.MAIN: asv.python()} | ({stacks.IPEX: ipex} if ipex.exists() else {})
