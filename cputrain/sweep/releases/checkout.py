"""A commit of this project, checked out beside the working tree, and what its suites run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from cputrain import environ, paths
from cputrain.errors import UsageError
from cputrain.machine.parent import dies_with_parent
from cputrain.record.cell import SCHEMA, CellKey
from cputrain.record.part import Part, Parts
from cputrain.run import recording
from cputrain.sweep.releases.requirements import HERE

SCHEMA_FILE = "cputrain/record/cell.py"
SPOKEN = range(4, SCHEMA + 1)
"""Schemas of records since which conductors and workers say the same: a later one has added fields
that may be missing. Where a new schema does otherwise, it is the first."""
LISTING = """
import json
import msgspec
from cputrain.engines import specs
from cputrain.sweep import plan
cells = []
for planned in plan.survey()[0]:
    for cell in planned.cells:
        cells.append({
            "asv_name": planned.asv_name(cell),
            "key": msgspec.to_builtins(planned.suite.key(*cell.values)),
            "experiment": specs.settle(cell.experiment).to_json(),
            "why_not": cell.why_not,
        })
print(json.dumps(cells))
"""
"""A program that says what the suites of a commit run, in the commit's own words."""


class ListedCell(Part, frozen=True, kw_only=True):
    """A cell of a commit's suites.

    Attributes:
        asv_name: what --bench is matched against.
        experiment: settled, with the commit's fields.
        why_not: why this machine cannot run it.
    """

    asv_name: str
    key: CellKey
    experiment: Parts
    why_not: str | None


@dataclass(frozen=True)
class Checkout:
    """The code of one side.

    Attributes:
        label: what was asked.
        project: folder of the code.
        commit, dirty: as in its records.
    """

    label: str
    project: Path
    commit: str | None
    dirty: list[str]

    @property
    def is_here(self) -> bool:
        """Whether it is the working tree."""
        return self.project == paths.PROJECT

    @property
    def requirements(self) -> str:
        """What its environment is built from."""
        return (self.project / "requirements.txt").read_text()

    @property
    def root(self) -> Path:
        """Where its data lie: a commit's own, as another one's code may read them otherwise."""
        return paths.ROOT if self.is_here else self.project

    def environment(self) -> dict[str, str]:
        """Of a process that runs its code."""
        kept = {n: v for n, v in os.environ.items() if not n.startswith(environ.PREFIX)}
        suites = paths.BENCHMARKS if self.is_here else self.project / "benchmarks"
        return {
            **kept,
            "PYTHONPATH": str(self.project),
            environ.ROOT: str(self.root),
            environ.BENCHMARKS: str(suites),
        }

    def cells(self) -> list[ListedCell]:
        """What its suites run. Raises UsageError where they cannot be read."""
        done = subprocess.run(
            [sys.executable, "-P", "-c", LISTING],
            capture_output=True,
            text=True,
            cwd=self.project,
            env=self.environment(),
            preexec_fn=dies_with_parent(),
        )
        try:
            if done.returncode:
                raise ValueError((done.stderr.strip() or "no output").splitlines()[-1])
            listed: list[ListedCell] = msgspec.json.decode(done.stdout, type=list[ListedCell])
        except ValueError as error:
            raise UsageError(
                f"--git {self.label}: this version cannot read what its suites run: {error}"
            ) from None
        return listed


def checkout(label: str) -> Checkout:
    """The code of a commit, or of the working tree where the label says so.

    Raises:
        UsageError: no such commit, or one whose records this version does not speak.
    """
    if label == HERE:
        head, dirty = recording.commit()
        return Checkout(label, paths.PROJECT, head, dirty)
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{label}^{{commit}}")
    if commit is None:
        raise UsageError(
            f"--git {label}: no such commit here; git log --oneline lists them, and in a shallow "
            "clone git fetch --unshallow brings the others"
        )
    _require_schema(label, commit)
    return Checkout(label, _worktree(label, commit), commit, [])


def _require_schema(label: str, commit: str) -> None:
    text = _git("show", f"{commit}:{SCHEMA_FILE}")
    match = re.search(r"^SCHEMA\b.*?= (\d+)$", text or "", re.MULTILINE)
    if text is None or match is None:
        raise UsageError(
            f"--git {label}: {commit[:10]} is earlier than typed records ({SCHEMA_FILE}), so its "
            "workers cannot be spoken with; choose a later commit"
        )
    if int(match[1]) not in SPOKEN:
        raise UsageError(
            f"--git {label}: the records of {commit[:10]} are of schema {match[1]} and this "
            f"version speaks {SPOKEN[0]} to {SCHEMA}; choose a commit of these"
        )


def _worktree(label: str, commit: str) -> Path:
    """The commit's files, in a work tree that is kept for the next time."""
    path = paths.STATE / "commits" / commit[:12]
    if (path / "cputrain").is_dir() and _git("-C", str(path), "rev-parse", "HEAD") == commit:
        if _git("-C", str(path), "status", "--porcelain", "--untracked-files=no"):
            raise UsageError(f"--git {label}: somebody has changed files in {path}; delete it")
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    _git("worktree", "prune")
    made = _git("worktree", "add", "--force", "--detach", str(path), commit)
    if made is None:
        raise UsageError(f"--git {label}: git cannot check {commit[:10]} out into {path}")
    return path


def _git(*words: str) -> str | None:
    """What git says; None where it fails."""
    command: list[Any] = ["git", "-C", str(paths.PROJECT), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None
