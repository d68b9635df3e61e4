"""Joins asv's results with the run records: one cell of one machine each."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.results import asvfiles, records
from cputrain.results.asvfiles import AsvCell, AsvSuite
from cputrain.results.records import Problem, Record, WorkerRecord

TOLERANCE = 1e-4
"""Relative; asv keeps five significant digits of its samples."""
NOT_RUN = "not run"
CUT_SHORT = "not run to its end: asv keeps nothing of a suite cut short"


@dataclass(frozen=True)
class CellResult:
    """One cell of one machine.

    Attributes:
        value: its values joined, as its folder is called.
        values: its values.
        mode: "full" or "quick"; None where it never ran.
        status: "ok" or what came of it instead, with `reason`.
        step_s: asv's seconds per step; None unless ok.
        workers: what measured it: all of one session, oldest first; empty without a record.
        experiment: of the run record, parts of fields; empty without one.
        commit: as the record says, else as asv does.
    """

    machine: str
    suite: str
    value: str
    values: tuple[Any, ...]
    param_names: tuple[str, ...]
    mode: str | None
    status: str
    reason: str | None
    step_s: float | None = None
    workers: tuple[WorkerRecord, ...] = ()
    experiment: dict[str, Any] = field(default_factory=dict)
    commit: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a number."""
        return self.status == "ok"


def machines(root: Path) -> list[str]:
    """Every machine with results or run records under `root`."""
    found = {name for mode in paths.MODES for name in asvfiles.machines(_asv(root, mode))}
    for pattern in ("output/*/*/*/run.json", "output/*/quick/*/*/run.json"):
        found |= {path.relative_to(root).parts[1] for path in root.glob(pattern)}
    return sorted(found)


def read(root: Path, machine: str) -> tuple[list[CellResult], list[Problem]]:
    """Every cell of every suite that asv knows, on `machine`; quick ones where no full one ran."""
    by_mode: dict[str, list[CellResult]] = {}
    problems: list[Problem] = []
    for mode in paths.MODES:
        suites, unusable = asvfiles.read(_asv(root, mode), machine)
        output = root / "output" / machine
        found, broken = records.read(output / "quick" if mode == "quick" else output)
        problems += unusable + broken
        by_mode[mode] = [
            _cell(machine, mode, suite, cell, found) for suite in suites for cell in suite.cells
        ]
    quick = {(cell.suite, cell.value): cell for cell in by_mode["quick"]}
    cells = []
    for cell in by_mode["full"]:
        other = quick.pop((cell.suite, cell.value), cell)
        cells.append(other if cell.mode is None else cell)
    known = {cell.suite for cell in cells}
    cells += [cell for cell in quick.values() if cell.mode is not None or cell.suite not in known]
    return cells, list(dict.fromkeys(problems))


def _asv(root: Path, mode: str) -> Path:
    return root / "result" / ("asv-quick" if mode == "quick" else "asv")


def _cell(
    machine: str,
    mode: str,
    suite: AsvSuite,
    asv: AsvCell,
    found: dict[tuple[str, str], Record | Problem],
) -> CellResult:
    name = paths.cell_name(asv.values)
    record = found.get((suite.name, name))
    sessions = record.sessions() if isinstance(record, Record) else []
    status, reason, workers = _outcome(asv, record, sessions)
    last = workers[-1] if workers else {}
    ran = asv.state != "absent" or bool(workers) or isinstance(record, Problem)
    return CellResult(
        machine=machine,
        suite=suite.name,
        value=name,
        values=asv.values,
        param_names=suite.param_names,
        mode=mode if ran else None,
        status=status,
        reason=reason,
        step_s=asv.step_s if status == "ok" else None,
        workers=tuple(workers),
        experiment=last.get("experiment", {}),
        commit=last.get("commit") or asv.commit,
    )


def _outcome(
    asv: AsvCell, record: Record | Problem | None, sessions: list[list[WorkerRecord]]
) -> tuple[str, str | None, list[WorkerRecord]]:
    """Status, reason, and the workers that they are of."""
    newest = sessions[0] if sessions else []
    bad = next((worker for worker in reversed(newest) if worker["status"] != "ok"), None)
    if asv.state == "value":
        return _measured(asv, record, sessions)
    if bad is not None:
        return bad["status"], bad.get("reason") or "the record gives no reason", newest
    if isinstance(record, Problem):
        return (
            ("failed" if asv.state == "failed" else "skipped"),
            f"run record not usable: {record.reason}",
            [],
        )
    if asv.state == "failed":
        return "failed", "asv has no value, and the run record gives no reason", newest
    if newest:
        return "skipped", CUT_SHORT, newest
    return "skipped", NOT_RUN, []


def _measured(
    asv: AsvCell, record: Record | Problem | None, sessions: list[list[WorkerRecord]]
) -> tuple[str, str | None, list[WorkerRecord]]:
    """The newest session that took asv's value; a worker of it that failed spoils the cell."""
    if sessions and all(worker["status"] == "skipped" for worker in sessions[0]):
        return "skipped", sessions[0][-1].get("reason"), sessions[0]
    for session in sessions:
        samples = [
            statistics.median(sample["step_s"])
            for worker in session
            for sample in worker.get("samples") or ()
        ]
        if not samples or abs(statistics.median(samples) / asv.step_s - 1) > TOLERANCE:
            continue
        for worker in session:
            if worker["status"] != "ok":
                return worker["status"], worker.get("reason"), session
        return "ok", None, session
    if isinstance(record, Problem):
        return "ok", f"asv's value; run record not usable: {record.reason}", []
    if sessions:
        return "ok", "asv's value; no session of the run record has it", []
    return "ok", "asv's value; there is no run record", []
