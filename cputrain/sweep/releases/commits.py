"""Sides that differ in this project's own code: `--git`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cputrain import atomic, paths
from cputrain.data import corpus
from cputrain.errors import RunError, UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.machine.parent import dies_with_parent
from cputrain.record.releases import ReleaseSide
from cputrain.run import suite
from cputrain.run.session import Session
from cputrain.sweep import asvenv, plan
from cputrain.sweep.progress import Progress
from cputrain.sweep.releases import chosen, environment, requirements
from cputrain.sweep.releases.checkout import Checkout, ListedCell, checkout
from cputrain.sweep.releases.chosen import Chosen, ChosenCell
from cputrain.sweep.releases.sides import Side

Listed = dict[str, ListedCell]
"""A commit's cells, by suite and cell."""


class Commits:
    """Two commits, each with its own code and suites (see `sides.Source`).

    Args:
        labels: of the commits; the first is the reference's.

    Raises:
        UsageError: a label is no commit's, or both are of the same code.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.checkouts = [checkout(label) for label in labels]
        reference, other = self.checkouts
        if reference.project == other.project:
            raise UsageError(f"--git {reference.label} {other.label}: both are the same code")

    def choose(self, regexes: Sequence[str] | None) -> tuple[Chosen, list[plan.Planned]]:
        """See `sides.Source`."""
        listed = [_by_name(each.cells()) for each in self.checkouts]
        named = [name for name, cell in listed[0].items() if _matches(cell, regexes)]
        new = [n for n, c in listed[1].items() if n not in listed[0] and _matches(c, regexes)]
        if not named and not new:
            pattern = " or ".join(regexes or ())
            raise UsageError(f"no suite of {self.checkouts[0].label} matches {pattern!r}")
        cells: dict[tuple[str, ...], ChosenCell] = {}
        left_out = dict.fromkeys(new, f"{self.checkouts[0].label} has no such cell")
        for name in named:
            both = [cells_.get(name) for cells_ in listed]
            made = self._cell(both)
            if isinstance(made, str):
                left_out[name] = made
            else:
                cells.setdefault(tuple(e.identity for e in made.experiments), made)
        if not cells:
            name, reason = next(iter(left_out.items()))
            raise UsageError(f"no cell can be compared: {name}: {reason}")
        chosen_ = Chosen(tuple(cells.values()), left_out if regexes else {})
        self._cells = chosen_.cells
        # Of the working tree's code alone: commits prepare their own data.
        here = [n for n, each in enumerate(self.checkouts) if each.is_here]
        experiments = (cell.experiments[n] for n in here for cell in chosen_.cells)
        planned = (plan.PlannedCell((n,), each, None) for n, each in enumerate(experiments))
        return chosen_, [plan.Planned("compare", "compare", suite.Suite, tuple(planned))]

    def _cell(self, both: Sequence[ListedCell | None]) -> ChosenCell | str:
        """A cell of both sides, or why it cannot be compared."""
        experiments = []
        for each, side in zip(both, self.checkouts, strict=True):
            if each is None:
                return f"{side.label} has no such cell"
            try:
                experiment = Experiment.from_json(each.experiment)
            except (ExperimentError, TypeError) as error:
                return f"{side.label} runs what this version cannot read: {error}"
            if (reason := each.why_not or chosen.why_not(experiment)) is not None:
                return reason
            experiments.append(experiment)
        assert both[0] is not None
        return ChosenCell(both[0].key, tuple(experiments))

    def sides(self, asv: asvenv.Asv, session: Session, progress: Progress) -> list[Side]:
        """See `sides.Source`."""
        made = []
        for place, each in enumerate(self.checkouts):
            side_asv = self._asv(asv, each)
            if isinstance(side_asv, environment.Release):
                side_asv.make(each.label, session.offline, progress)
            python = side_asv.python()
            installed = environment.read_back(python, each.project)
            pins = requirements.pins(each.requirements)
            required = {name: version for name, version in pins.items() if name in installed}
            environment.require(each.label, required, installed, python.parent.parent)
            if not each.is_here:
                _prepare(each, python, [c.experiments[place] for c in self._cells], session.offline)
            side = ReleaseSide(
                label=each.label, installed=installed, commit=each.commit, dirty=each.dirty
            )
            made.append(Side(side, python, each.project, each.root))
        return made

    def _asv(self, asv: asvenv.Asv, side: Checkout) -> asvenv.Asv:
        """The main environment where the commit asks for what it has."""
        main = (paths.PROJECT / "requirements.txt").read_text()
        if requirements.essence(side.requirements) == requirements.essence(main):
            return asv
        return environment.Release(asv.machine, side.requirements)


def _by_name(cells: Sequence[ListedCell]) -> Listed:
    return {f"{cell.key.suite}/{cell.key.name}": cell for cell in cells}


def _matches(cell: ListedCell, regexes: Sequence[str] | None) -> bool:
    return any(re.search(regex, cell.asv_name) for regex in regexes or chosen.USUAL)


def _prepare(
    side: Checkout, python: Path, experiments: Sequence[Experiment], offline: bool
) -> None:
    """A commit's data, made by its own code from the working tree's text.

    Raises:
        RunError: they cannot be made.
    """
    data, text = side.root / "data", paths.DATA / corpus.FILE
    data.mkdir(exist_ok=True)
    if text.exists():
        _take_text(text, data / corpus.FILE)
    wanted = data / "experiments.json"
    atomic.write_json(wanted, [experiment.to_json() for experiment in experiments])
    words = ["cputrain.data", "--root", str(data), "--experiments", str(wanted)]
    words += ["--offline"] if offline else []
    done = subprocess.run(
        [str(python), "-P", "-m", *words],
        capture_output=True,
        text=True,
        cwd=side.project,
        env=side.environment(),
        preexec_fn=dies_with_parent(),
    )
    if done.returncode:
        last = (done.stderr.strip() or "no output").splitlines()[-1]
        raise RunError(f"--git {side.label}: preparing its data: {last}")


def _take_text(text: Path, kept: Path) -> None:
    """Have a commit's data folder keep this text; what was made there of another one goes."""
    new = text.read_bytes()
    if kept.exists():
        if kept.read_bytes() == new:
            return
        shutil.rmtree(kept.parent)  # all in it is made of the text
    atomic.write_bytes(kept, new)
