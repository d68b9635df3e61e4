"""The run record of a cell: what its workers were asked, what was in force, what they measured.

One `run.json` per cell under `output/`, the newest workers last.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellKey, CellRecord
from cputrain.record.events import WorkerEnded
from cputrain.record.worker import WorkerRecord
from cputrain.run import stacks

SESSIONS_KEPT = 3
MODEL_CAP_BYTES = 256_000_000
"""Larger models are not kept, unless `bench.py run --model-cap` says so."""
MEASURES = (
    *("benchmarks", "cputrain", "bench.py"),
    *stacks.CONFIGURATION.values(),
    *stacks.REQUIREMENTS.values(),
)
FILE = "run.json"


def session() -> str:
    """What the workers of one `asv run` have in common: bench.py's sweep, or asv's own process."""
    given = os.environ.get("CPUTRAIN_SESSION")
    if given:
        return given
    parent = os.getppid()
    started = Path(f"/proc/{parent}/stat").read_text().rsplit(")", 1)[1].split()[19]
    return f"asv-{parent}-{started}"


def run() -> str:
    """Which asv call of the session this is: a suite taken up again after a kill has another."""
    return os.environ.get("CPUTRAIN_RUN") or session()


def machine() -> str:
    """The name under which asv keeps this machine's results: bench.py's word, or asv's registry."""
    given = os.environ.get("CPUTRAIN_MACHINE")
    if given:
        return given
    node = platform.node()
    try:
        registry = json.loads((Path.home() / ".asv-machine.json").read_text())
    except (OSError, ValueError):
        return node
    entries = {name: entry for name, entry in registry.items() if isinstance(entry, dict)}
    if node not in entries and len(entries) == 1:
        node = next(iter(entries))
    return str(entries.get(node, {}).get("machine", node))


def mode() -> str:
    """Which kind of sweep this is: "quick" inside `bench.py run --quick`, else "full"."""
    return os.environ.get("CPUTRAIN_MODE", "full")


def request(folder: Path) -> dict[str, Any]:
    """What a worker is told beside its experiment (see `cputrain.worker.job`)."""
    return {
        "folder": str(folder),
        "offline": os.environ.get("CPUTRAIN_OFFLINE") == "1",
        "model_cap_bytes": int(os.environ.get("CPUTRAIN_MODEL_CAP", MODEL_CAP_BYTES)),
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


def announce(event: WorkerEnded) -> None:
    """Append one line to the file that `bench.py run` follows, where there is one."""
    path = os.environ.get("CPUTRAIN_EVENTS")
    if path:
        with Path(path).open("ab") as file:
            file.write(files.encode(event) + b"\n")
