"""Measures sides beside one another, pair by pair: the verb `compare` with --stack or --git."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from cputrain import paths
from cputrain.analysis.releases import compared
from cputrain.errors import RunError, UsageError
from cputrain.record import files
from cputrain.record.releases import FILE, FOLDER, ReleasesRecord, TakenPair
from cputrain.report import releases as page
from cputrain.run import recording
from cputrain.run.session import Session, new_name
from cputrain.sweep import asvenv, plan
from cputrain.sweep.progress import Progress
from cputrain.sweep.releases.passes import Passes
from cputrain.sweep.releases.sides import Side, Source, conduct
from cputrain.wording import counted


class Releases:
    """Compares (see `driver.Measurement`).

    Args:
        source: of the sides.
        regexes: of cells; None is the usual ones.
        budget_s: seconds of measuring.
        seed: of the orders.
    """

    uses_peak = False

    def __init__(
        self, source: Source, regexes: Sequence[str] | None, budget_s: float, seed: int
    ) -> None:
        self.source, self.regexes, self.budget_s, self.seed = source, regexes, budget_s, seed
        self.progress = Progress()
        self.record: ReleasesRecord | None = None
        self.without_time: list[str] = []

    def choose(self) -> list[plan.Planned]:
        """The cells. Raises UsageError and RunError."""
        self.chosen, planned = self.source.choose(self.regexes)
        return planned

    def begin(self, session: Session) -> None:
        """Give the session its name; say what is compared."""
        name = new_name()
        self.session = replace(session, id=name, run=name)
        engines = dict.fromkeys(cell.engine for cell in self.chosen.cells)
        self.progress.say(
            f"{session.machine}: {counted(len(self.chosen.cells), 'cell')} on {', '.join(engines)}"
        )
        for cell, reason in self.chosen.left_out.items():
            self.progress.say(f"  left out: {cell}: {reason}")

    def measure(self, asv: asvenv.Asv) -> None:
        """Build the environments, then take passes. Raises UsageError and RunError."""
        sides = self.source.sides(asv, self.session, self.progress)
        self._open(sides)
        for line in page.sides(self._known()):
            self.progress.say(line)
        with contextlib.ExitStack() as stack:
            conducted = []
            for place, side in enumerate(sides):
                conducted.append(conduct(side, self.session, place))
                stack.callback(conducted[-1].close)
            self._began = time.monotonic()
            until = self._began + self.budget_s
            passes = Passes(self.chosen.cells, conducted, self.seed, until, self._keep)
            passes.run()
        self.without_time = passes.without_time
        if not self._known().taken:
            raise RunError(f"--budget {self.budget_s / 60:g} is too short for a single pair")

    def _open(self, sides: Sequence[Side]) -> None:
        head, dirty = recording.commit()
        self.record = ReleasesRecord(
            session=self.session.id,
            machine=self.session.machine,
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            commit=head,
            dirty=dirty,
            seed=self.seed,
            budget_s=self.budget_s,
            sides=[side.record for side in sides],
            left_out=dict(self.chosen.left_out),
        )

    def _known(self) -> ReleasesRecord:
        if self.record is None:
            raise UsageError("nothing was compared")
        return self.record

    def _keep(self, pair: TakenPair) -> ReleasesRecord:
        """Write the record with one more pair of workers; say what that says."""
        known = self._known()
        took_s = time.monotonic() - self._began
        self.record = structs.replace(known, taken=[*known.taken, pair], took_s=took_s)
        files.write(self._path(), self.record)
        self.progress.failed += pair.status not in ("ok", "skipped")
        self.progress.say(page.pair(pair, self.record))
        return self.record

    def _path(self) -> Path:
        folder = paths.output_folder(self.session.machine, self.session.mode)
        return folder / FOLDER / self.session.id / FILE

    def end(self) -> None:
        """Write record and page; print the page's table."""
        self.record = structs.replace(self._known(), status="ok")
        files.write(self._path(), self.record)
        known = compared.compare(self.record)
        path = page.write(paths.RESULT, self.record, known, self.without_time)
        for line in page.table(self.record, known):
            self.progress.say(line)
        if self.without_time:
            cells = ", ".join(dict.fromkeys(self.without_time))
            self.progress.say(f"left out for lack of time: {cells}; give it more --budget")
        self.progress.say(f"page: {_shown(path)}")
        self.progress.say(f"record: {_shown(self._path())}")

    def stopped(self) -> str:
        """One line: what is kept."""
        if self.record is None or not self.record.taken:
            return "nothing was compared; environments that are built are kept"
        kept = counted(len(self.record.taken), "pair of workers", "pairs of workers")
        return f"{kept} {'is' if len(self.record.taken) == 1 else 'are'} in {_shown(self._path())}"


def _shown(path: Path) -> Path:
    return path.relative_to(paths.ROOT) if path.is_relative_to(paths.ROOT) else path
