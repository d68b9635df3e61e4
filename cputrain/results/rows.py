"""The cells of a machine as its run records tell: status, reason, number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.record.cell import CellKey, CellRecord
from cputrain.record.worker import WorkerRecord, step_s
from cputrain.results import baselines, records, shared, stored
from cputrain.results.baselines import Beside
from cputrain.results.records import Problem, Unusable
from cputrain.results.shared import Shared

UNPROVEN = "not run to its end, so nothing shows that the model trained"
NO_REASON = "the record gives no reason"
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
        workers: what measured it: all of one session, oldest first; those of the cell `same_as`
            where that has run the same experiment.
        earlier: workers of its other sessions that are a number.
        same_as: suite/cell whose workers it has.
        reference_identity: of the experiment that ran beside it; None where no record says.
        other_baseline: name of what it was measured beside, where its suite's newest session has
            another baseline: there is no effect then, and the reason says so.
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
    earlier: tuple[WorkerRecord, ...] = ()
    same_as: str | None = None
    reference_identity: str | None = None
    other_baseline: str | None = None

    @property
    def name(self) -> str:
        """Suite/cell, as its folder is called."""
        return f"{self.key.suite}/{self.value}"

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
        return self.other_baseline is None and self.value == self.key.baseline


def read(
    root: Path, machine: str, modes: Sequence[str] = paths.MODES, only: str | None = None
) -> tuple[list[CellResult], list[Problem]]:
    """Every cell that has a record, suite by suite; quick ones where no full one ran.

    Args:
        root: of data and results.
        machine: whose.
        modes: full, quick, or both.
        only: see `records.read`.
    """
    by_mode: dict[str, dict[tuple[str, str], CellResult]] = {mode: {} for mode in paths.MODES}
    problems: list[Problem] = [*stored.problems(root, machine)]
    for mode in modes:
        usable, unusable = records.read(root, machine, mode, only)
        problems += [item.problem for item in unusable]
        cells = [_cell(machine, mode, record) for record in usable]
        together = shared.by_cell({cell.name: cell.workers for cell in cells if cell.ok})
        ran, unread = baselines.references(root, machine, mode) if only is None else ({}, [])
        problems += unread
        cells = [_with(cell, together[cell.name], ran) if cell.ok else cell for cell in cells]
        cells += [_unusable(machine, mode, item, cells) for item in unusable]
        by_mode[mode] = {(cell.suite, cell.value): cell for cell in cells}
    quick, full = by_mode["quick"], by_mode["full"]
    # What is not shown still tells the noise of this machine.
    hidden = {
        place: (*quick[place].workers, *quick[place].earlier) for place in full.keys() & quick
    }
    cells = [
        replace(cell, earlier=(*cell.earlier, *(w for w in hidden.get(place, ()) if w.ok)))
        for place, cell in (quick | full).items()
    ]
    # What decides claims has a baseline of its own for each pair.
    return sorted(_compared(cells) if only is None else cells, key=_order), problems


def _order(cell: CellResult) -> tuple[Any, ...]:
    return cell.key.area, cell.suite, cell.key.index, cell.value


def _cell(machine: str, mode: str, record: CellRecord) -> CellResult:
    status, reason, workers = _outcome(record)
    last = workers[-1] if workers else None
    others = {worker.session for worker in workers}
    return CellResult(
        machine=machine,
        key=record.key,
        value=record.key.name,
        mode=mode,
        status=status,
        reason=reason,
        step_s=step_s(workers) if status == "ok" else None,
        workers=tuple(workers),
        earlier=tuple(w for w in record.workers if w.ok and w.session not in others),
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

    Each worker of a session is a pass. What one of them has proven stays a number, also where
    another one failed: the reason then says so. Without any the newest failure is the outcome.
    """
    sessions = record.sessions()
    for session in sessions:
        proven = [worker for worker in session if worker.ok]
        failed = [worker for worker in session if not worker.ok]
        if proven:
            newer = NEWER_UNPROVEN if session is not sessions[0] else None
            return (
                "ok",
                "; ".join(filter(None, (newer, _lost(failed, len(session))))) or None,
                proven,
            )
        if session[-1].status == "unproven":  # else a later record says what became of it
            continue
        return failed[-1].status, failed[-1].reason or NO_REASON, session
    return "unproven", UNPROVEN, sessions[0] if sessions else []


def _lost(failed: Sequence[WorkerRecord], passes: int) -> str | None:
    """What is said of the passes of a session that gave no number, beside others that did."""
    if not failed:
        return None
    last = failed[-1]
    why = UNPROVEN if last.status == "unproven" else f"{last.status}: {last.reason or NO_REASON}"
    return f"{len(failed)} of {passes} passes gave no number: {why}"


def _with(cell: CellResult, together: Shared, references: Mapping[str, str]) -> CellResult:
    """The cell with the workers that it shares with others of its session."""
    workers = together.workers
    return replace(
        cell,
        workers=workers,
        same_as=None if together.owner == cell.name else together.owner,
        step_s=step_s(workers),
        reference_identity=references.get(workers[-1].reference or ""),
    )


def _compared(cells: Sequence[CellResult]) -> list[CellResult]:
    """The cells; those beside another baseline than their suite's newest session has say so."""
    beside = [_beside(cell) for cell in cells]
    newest = baselines.newest(beside)
    compared = []
    for cell, its in zip(cells, beside, strict=True):
        if (another := newest[its.group].why_another(its)) is not None:
            why = "; ".join(filter(None, (cell.reason, another))) if cell.ok else cell.reason
            cell = replace(cell, other_baseline=cell.key.baseline, reason=why)
        compared.append(cell)
    return compared


def _beside(cell: CellResult) -> Beside:
    group, base = (cell.suite, cell.key.engine), cell.key.baseline
    session, started = next(((w.session, w.started) for w in cell.workers[-1:]), ("", ""))
    return Beside(group, base, cell.reference_identity, session, started)
