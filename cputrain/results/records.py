"""Reads the run records under output/: what each worker of a cell measured, and what went wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = 1
NUMBERS = {
    "noise": (
        *("run_queue_share", "steal_share", "minor_faults", "voluntary_switches"),
        *("energy_j", "clock_ghz"),
    ),
    "state": ("anon_huge_bytes",),
}
"""Readings that the tables take, of a sample's noise and of a worker's state."""
STATUSES = ("ok", "skipped", "failed", "timed out", "out of memory")

WorkerRecord = dict[str, Any]
"""One entry of a run record's "workers"."""


@dataclass(frozen=True)
class Problem:
    """A file that cannot be used, and why, in one line."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True)
class Record:
    """A cell's run record; `workers` oldest first."""

    path: Path
    workers: tuple[WorkerRecord, ...]

    def sessions(self) -> list[list[WorkerRecord]]:
        """The workers by session, the newest session first."""
        by_session: dict[str, list[WorkerRecord]] = {}
        for worker in self.workers:
            by_session.setdefault(worker["session"], []).append(worker)
        return list(by_session.values())[::-1]


def steps(worker: WorkerRecord) -> list[float]:
    """Seconds of every timed step of a worker, its samples one after the other."""
    return [seconds for sample in worker.get("samples") or () for seconds in sample["step_s"]]


def read(folder: Path) -> tuple[dict[tuple[str, str], Record | Problem], list[Problem]]:
    """Every record at folder/<suite>/<cell>/run.json, by (suite, cell), and the broken ones.

    Args:
        folder: output/<machine>, or output/<machine>/quick.
    """
    found: dict[tuple[str, str], Record | Problem] = {}
    for path in sorted(folder.glob("*/*/run.json")):
        found[path.parent.parent.name, path.parent.name] = read_file(path)
    return found, [item for item in found.values() if isinstance(item, Problem)]


def read_file(path: Path) -> Record | Problem:
    """One run record, checked as far as it is used."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        return Problem(path, f"cannot be read: {error.strerror}")
    except ValueError:  # also what is not UTF-8
        return Problem(path, "not JSON, perhaps cut off; delete it and run the cell again")
    try:
        if content["schema"] != SCHEMA:
            return Problem(path, f"schema {content['schema']!r}; this version reads {SCHEMA}")
        workers = content["workers"]
        for worker in workers:
            _check(worker)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = f"{type(error).__name__}: {error}"
        return Problem(path, f"not a run record ({detail}); delete it and run the cell again")
    return Record(path, tuple(workers))


def _check(worker: WorkerRecord) -> None:
    """Raises ValueError, KeyError, TypeError or AttributeError where `worker` is not one."""
    for name in ("session", "identity", "status"):
        if not isinstance(worker[name], str):
            raise ValueError(f"{name} = {worker[name]!r}")
    if worker["status"] not in STATUSES:
        raise ValueError(f"status = {worker['status']!r}")
    if not all(isinstance(part, dict) for part in worker["experiment"].values()):
        raise ValueError("experiment has a part that is no object")
    for name in ("phases", "counts", "placement", "versions", "data"):
        if not isinstance(worker.get(name) or {}, dict):
            raise ValueError(f"{name} is no object")
    numbers: Sequence[object] = steps(worker)
    for number in numbers:
        if type(number) not in (int, float) or not 0 < number < math.inf:  # type: ignore[operator]
            raise ValueError(f"step_s has {number!r}")
    for sample in worker.get("samples") or ():
        if not sample["step_s"]:
            raise ValueError("a sample without steps")
        _check_numbers(sample, "noise")
    _check_numbers(worker, "state")
    if worker["status"] == "ok":
        if not numbers:
            raise ValueError("a worker without samples that is ok")
        worker["counts"]["tokens_per_step"], worker["counts"]["flops_per_step"]
        len(worker["placement"]["cpus"]), int(worker["placement"]["threads"])


def _check_numbers(owner: Any, part: str) -> None:
    """The part's readings are numbers, null or not there."""
    readings = owner.get(part) or {}
    for name in NUMBERS[part]:
        if type(readings.get(name)) not in (int, float, type(None)):
            raise ValueError(f"{part}.{name} = {readings[name]!r}")
