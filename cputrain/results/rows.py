"""The cells of a machine as its run records tell: status, reason, number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.record.cell import CellKey, CellRecord
from cputrain.record.worker import WorkerRecord, step_s
from cputrain.results import records
from cputrain.results.records import Problem, Unusable

UNPROVEN = "not run to its end, so nothing shows that the model trained"
NEWER_UNPROVEN = "of an earlier run: the newest was not run to its end"


@dataclass(frozen=True)
class CellResult:
    """One cell of one machine.

    Attributes:
        key: what its record says that it is.
        value: its values joined, as its folder is called.
        mode: "full" or "quick".
        status: "ok" or what came of it instead, with `reason`.
        step_s: seconds per step; None unless ok.
        workers: what measured it: all of one session, oldest first.
    """

    machine: str
    key: CellKey
    value: str
    mode: str
    status: str
    reason: str | None
    step_s: float | None = None
    workers: tuple[WorkerRecord, ...] = ()
    experiment: dict[str, Any] = field(default_factory=dict)
    commit: str | None = None

    @property
    def suite(self) -> str:
        """The suite's name."""
        return self.key.suite

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of its suite's parameters; empty where its record cannot be read."""
        return self.key.values

    @property
    def param_names(self) -> tuple[str, ...]:
        """The names of its suite's parameters."""
        return self.key.param_names

    @property
    def ok(self) -> bool:
        """Whether there is a number."""
        return self.status == "ok"

    @property
    def is_baseline(self) -> bool:
        """Whether other cells of the suite are compared with it."""
        return self.key.is_baseline


def read(root: Path, machine: str) -> tuple[list[CellResult], list[Problem]]:
    """Every cell that has a record, suite by suite; quick ones where no full one ran."""
    by_mode: dict[str, dict[tuple[str, str], CellResult]] = {}
    problems: list[Problem] = []
    for mode in paths.MODES:
        found, unusable = records.read(root, machine, mode)
        problems += [item.problem for item in unusable]
        cells = [_cell(machine, mode, record) for record in found]
        cells += [_unusable(machine, mode, item, cells) for item in unusable]
        by_mode[mode] = {(cell.suite, cell.value): cell for cell in cells}
    cells = list((by_mode["quick"] | by_mode["full"]).values())
    return sorted(cells, key=_order), problems


def _order(cell: CellResult) -> tuple[Any, ...]:
    return cell.key.area, cell.suite, cell.key.index, cell.value


def _cell(machine: str, mode: str, record: CellRecord) -> CellResult:
    status, reason, workers = _outcome(record)
    last = workers[-1] if workers else None
    return CellResult(
        machine=machine,
        key=record.key,
        value=record.key.name,
        mode=mode,
        status=status,
        reason=reason,
        step_s=step_s(workers) if status == "ok" else None,
        workers=tuple(workers),
        experiment=last.experiment if last else {},
        commit=last.commit if last else None,
    )


def _unusable(machine: str, mode: str, item: Unusable, others: Sequence[CellResult]) -> CellResult:
    """A failed cell, which takes what it is of from another cell of its suite."""
    like = next((cell.key for cell in others if cell.suite == item.suite), None)
    key = CellKey(
        item.suite,
        (),
        param_names=like.param_names if like else (),
        area=like.area if like else "",
        description=like.description if like else "",
        baseline=like.baseline if like else None,
        index=10**6,
    )
    reason = f"run record not usable: {item.problem.reason}"
    return CellResult(machine, key, item.cell, mode, "failed", reason)


def _outcome(record: CellRecord) -> tuple[str, str | None, list[WorkerRecord]]:
    """Status, reason, and the workers that they are of: the newest session run to its end.

    A worker of it that gave no number spoils the cell.
    """
    sessions = record.sessions()
    for session in sessions:
        if any(worker.status == "unproven" for worker in session):
            continue
        for worker in reversed(session):
            if not worker.ok:
                return worker.status, worker.reason or "the record gives no reason", session
        return "ok", None if session is sessions[0] else NEWER_UNPROVEN, session
    return "unproven", UNPROVEN, sessions[0] if sessions else []
