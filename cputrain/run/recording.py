"""The run record of a cell: what its workers were asked, what was in force, what they measured.

One `run.json` per cell under `output/`, the newest workers last.
"""

from __future__ import annotations

import contextlib
import datetime
import subprocess
import time
import uuid
from pathlib import Path

from cputrain import paths
from cputrain.engines import recorded
from cputrain.experiment import Experiment
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellKey, CellRecord
from cputrain.record.events import WorkerEnded
from cputrain.record.process import Turn
from cputrain.record.requests import WorkerRequest
from cputrain.record.trained import FOLDER as RUNS
from cputrain.record.worker import WorkerRecord, step_s
from cputrain.run import stacks
from cputrain.run.session import Session
from cputrain.worker import saved

SESSIONS_KEPT = 3
"""Sessions with a number that a cell's record has, at most."""
MEASURES = (
    *("benchmarks", "cputrain", "bench.py"),
    *stacks.CONFIGURATION.values(),
    *stacks.REQUIREMENTS.values(),
)
MODELS_BYTES = 500_000_000
"""Models of one machine, from which on only those of baselines are kept, which have 300 MB: output/
stays below 1 GB."""
NO_ROOM = f"models are not saved any more: those in output/ have {MODELS_BYTES / 1e6:.0f} MB"
FILE = "run.json"


def has_room(session: Session) -> bool:
    """Whether models of this machine may still be saved; one file under two names counts once.

    Those of real runs, which somebody asked for by name, are not counted.
    """
    folder = paths.output_folder(session.machine, "full")
    relative = (path.relative_to(folder) for path in folder.rglob(saved.MODEL))
    models = ((folder / path).stat() for path in relative if RUNS not in path.parts)
    return sum({model.st_ino: model.st_size for model in models}.values()) < MODELS_BYTES


def request(session: Session, folder: Path, keeps_model: bool = True) -> WorkerRequest:
    """What a worker is told beside its experiment."""
    cap = session.model_cap_bytes if keeps_model else 0
    return WorkerRequest(folder=str(folder), offline=session.offline, model_cap_bytes=cap)


def opened(
    session: Session, experiment: Experiment, turn: Turn | None = None, id: str | None = None
) -> WorkerRecord:
    """The record of a worker that has not started.

    Args:
        session: that it belongs to.
        experiment: what it runs, settled.
        turn: of a run of engines side by side.
        id: its name; a new one where left out.
    """
    head, dirty = commit()
    return WorkerRecord(
        id=id or uuid.uuid4().hex[:12],
        session=session.id,
        run=session.run,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        mode="quick" if session.mode == "quick" else "full",
        machine=session.machine,
        experiment=experiment.to_json(),
        identity=experiment.identity,
        commit=head,
        dirty=dirty,
        turn=turn,
    )


def commit() -> tuple[str | None, list[str]]:
    """The working tree's commit, and which files that decide what is measured differ from it."""
    head, dirty = git("rev-parse", "HEAD"), git("status", "--porcelain", "--", *MEASURES) or b""
    lines = dirty.decode(errors="replace").splitlines()
    return (head.decode().strip() if head else None), [line[3:] for line in lines]


def git(*words: str) -> bytes | None:
    """What git prints in the project's folder; None without git."""
    command = ["git", "-C", str(paths.PROJECT), *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def save(folder: Path, key: CellKey, worker: WorkerRecord) -> None:
    """`add` to the run record of the cell whose folder this is."""
    add(folder / FILE, key, worker)


def add(path: Path, key: CellKey, worker: WorkerRecord) -> None:
    """Add `worker` to a record of a cell's workers, in place of its own earlier state.

    Workers of its own session are kept, and of those others that tell something (see `_kept`);
    what a killed call of the same session left is not. A record that cannot be read is put aside
    as `run.json.broken`, so that it is neither lost nor in the way.

    Raises:
        OSError: it cannot be written.
        files.RecordError: something in it is no JSON, as a number that is not finite; or its
            evidence is not of its engine's type.
    """
    recorded.evidence(worker)
    workers: list[WorkerRecord] = []
    with contextlib.suppress(FileNotFoundError):
        try:
            workers = files.read(path, CellRecord, SCHEMA).workers
        except files.RecordError:
            path.replace(path.with_suffix(".json.broken"))
    workers = [w for w in workers if w.id != worker.id and not _was_cut_off(w, worker)]
    workers.append(worker)
    files.write(path, CellRecord(key=key, workers=_kept(workers)))


def _kept(workers: list[WorkerRecord]) -> list[WorkerRecord]:
    """Those of the last one's session, of the newest with a number and of the newest failed one.

    A session that has neither tells nothing once there is a newer one, and no session without a
    number takes the place of one that has it: a number takes minutes, a run that stops seconds.
    """
    own = workers[-1].session
    by_session: dict[str, list[WorkerRecord]] = {}
    for worker in workers:
        by_session.setdefault(worker.session, []).append(worker)
    by_session[own] = by_session.pop(own)  # the newest, also where it began before others
    numbers = [name for name, its in by_session.items() if any(w.ok for w in its)]
    told = [name for name, its in by_session.items() if its[-1].status != "unproven"]
    failed = [name for name in told if name not in numbers]
    names = {own, *numbers[-SESSIONS_KEPT:], *failed[-1:]}
    return [worker for worker in workers if worker.session in names]


def newest(folder: Path) -> WorkerRecord | None:
    """The newest worker of a cell, where that is a number; None else."""
    try:
        worker = files.read(folder / FILE, CellRecord, SCHEMA).workers[-1]
    except (OSError, files.RecordError, IndexError):
        return None
    return worker if worker.ok else None


def repeated(own: WorkerRecord, folder: Path, own_folder: Path) -> WorkerRecord | None:
    """The newest worker of a cell that has run the same, as `own`; None where it is no number.

    Nor where another sweep has measured that cell since: its record is of that one's session.

    Args:
        own: of the cell that takes it over, and has not started.
        folder: of the cell that has run.
        own_folder: of the cell that takes it over; it may be the same.
    """
    if (worker := newest(folder)) is None or worker.session != own.session:
        return None
    if folder != own_folder:
        whose = f"{folder.parent.name}/{folder.name}"
        worker = worker.but(id=own.id, repeats=whose)
    return worker.but(run=own.run)


def _was_cut_off(earlier: WorkerRecord, now: WorkerRecord) -> bool:
    """Whether an earlier call of the same session was killed over it."""
    same_session, same_run = earlier.session == now.session, earlier.run == now.run
    return earlier.status == "unproven" and same_session and not same_run


def announce(session: Session, key: CellKey, worker: WorkerRecord, training_s: float) -> None:
    """Append one line to the file that `bench.py run` follows, where there is one.

    Args:
        session: that it belongs to.
        key: the worker's cell.
        worker: that has ended.
        training_s: see `WorkerEnded`.
    """
    if session.events is None:
        return
    event = WorkerEnded(
        at=time.time(),
        suite=key.suite,
        cell=key.name,
        status=worker.status,
        reason=worker.reason,
        step_s=step_s([worker]),
        effect=worker.paired_ratio,
        tokens_per_step=Experiment.from_json(worker.experiment).training.tokens_per_step,
        disturbed=worker.is_disturbed,
        wall_s=worker.wall_s or 0.0,
        training_s=training_s,
        note=worker.note,
        repeats=worker.repeats,
        is_baseline=key.name == key.baseline,
    )
    with session.events.open("ab") as file:
        file.write(files.encode(event) + b"\n")
