"""The run record of a cell: what its workers were asked, what was in force, what they measured.

One `run.json` per cell under `output/`, the newest workers last.
"""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellKey, CellRecord
from cputrain.record.events import WorkerEnded
from cputrain.record.worker import WorkerRecord
from cputrain.run import stacks
from cputrain.run.session import Session

SESSIONS_KEPT = 3
MEASURES = (
    *("benchmarks", "cputrain", "bench.py"),
    *stacks.CONFIGURATION.values(),
    *stacks.REQUIREMENTS.values(),
)
FILE = "run.json"


def request(session: Session, folder: Path) -> dict[str, Any]:
    """What a worker is told beside its experiment (see `cputrain.worker.job`)."""
    return {
        "folder": str(folder),
        "offline": session.offline,
        "model_cap_bytes": session.model_cap_bytes,
    }


def commit() -> tuple[str | None, list[str]]:
    """The working tree's commit, and which files that decide what is measured differ from it."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(paths.PROJECT), *words],
                capture_output=True,
                text=True,
                timeout=20,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None

    head = git("rev-parse", "HEAD")
    dirty = git("status", "--porcelain", "--", *MEASURES) or ""
    return (head.strip() if head else None), [line[3:] for line in dirty.splitlines()]


def save(folder: Path, key: CellKey, worker: WorkerRecord) -> None:
    """Add `worker` to the cell's run record, in place of its own earlier state.

    Workers of the newest sessions are kept; what a killed call of the same session left is
    not. A record that cannot be read is put aside as `run.json.broken`, so that it is neither
    lost nor in the way.

    Raises:
        OSError: it cannot be written.
        files.RecordError: something in it is no JSON, as a number that is not finite.
    """
    path = folder / FILE
    workers: list[WorkerRecord] = []
    with contextlib.suppress(FileNotFoundError):
        try:
            workers = files.read(path, CellRecord, SCHEMA).workers
        except files.RecordError:
            path.replace(path.with_suffix(".json.broken"))
    workers = [
        w
        for w in workers
        if w.id != worker.id and not (w.session == worker.session and w.run != worker.run)
    ]
    workers.append(worker)
    sessions = list(dict.fromkeys(w.session for w in workers))[-SESSIONS_KEPT:]
    kept = [w for w in workers if w.session in sessions]
    files.write(path, CellRecord(key=key, workers=kept))


def announce(session: Session, event: WorkerEnded) -> None:
    """Append one line to the file that `bench.py run` follows, where there is one."""
    if session.events is not None:
        with session.events.open("ab") as file:
            file.write(files.encode(event) + b"\n")
