"""The run record of a cell: what its workers were asked, what was in force, what they measured.

One `run.json` per cell under `output/`, the newest workers last. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.atomic import write_json
from cputrain.run import stacks
from cputrain.run.session import Session

SCHEMA = 1
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


def save(folder: Path, suite: str, values: tuple[object, ...], worker: dict[str, Any]) -> None:
    """Add `worker` to the cell's run record, in place of its own earlier state.

    Workers of the newest sessions are kept; what a killed call of the same session left is
    not, as asv kept nothing of it either. A record that cannot be read is put aside as
    `run.json.broken`, so that it is neither lost nor in the way.
    """
    path = folder / FILE
    workers: list[dict[str, Any]] = []
    with contextlib.suppress(FileNotFoundError):
        try:
            workers = json.loads(path.read_text())["workers"]
            _ = [(w["id"], w["session"], w["run"]) for w in workers]
        except (ValueError, KeyError, TypeError):
            path.replace(path.with_suffix(".json.broken"))
    stale = [
        w
        for w in workers
        if w["id"] == worker["id"]
        or (w["session"] == worker["session"] and w["run"] != worker["run"])
    ]
    workers = [w for w in workers if w not in stale] + [worker]
    order = list(dict.fromkeys(w["session"] for w in workers))
    kept = set(order[-SESSIONS_KEPT:])
    write_json(
        path,
        {
            "schema": SCHEMA,
            "suite": suite,
            "value": list(values),
            "cell": paths.cell_name(values),
            "workers": [w for w in workers if w["session"] in kept],
        },
    )


def announce(session: Session, event: dict[str, Any]) -> None:
    """Append one line to the file that `bench.py run` follows, where there is one."""
    if session.events is not None:
        line = json.dumps({"at": time.time(), **event}) + "\n"
        with session.events.open("a") as file:
            file.write(line)
