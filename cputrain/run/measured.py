"""What a session's pass has measured already: nothing is measured twice in one pass.

A cell that is done leaves a line. A later cell of the same experiment beside the same reference
takes over its record, samples and model; so does the cell itself where a sweep that was killed
goes on, as asv keeps nothing of a call that it did not end.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import msgspec

from cputrain import paths
from cputrain.run import recording
from cputrain.run.session import Session

Done = tuple[str, str, str]
"""Identities of a cell's experiment and of its reference's, "" without one; its folder."""


def _path(session: Session) -> Path:
    return paths.STATE / f"measured-{session.id}-{session.number}.jsonl"


def done(session: Session) -> list[Done]:
    """The cells that this pass has measured, in their order; without bench.py none.

    A line that a power cut has cut off is none: its cell is measured again.
    """
    if not session.driven:
        return []
    try:
        lines = _path(session).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    cells = []
    for line in lines:
        with contextlib.suppress(msgspec.MsgspecError):
            cells.append(msgspec.json.decode(line, type=Done))
    return cells


def kept(session: Session) -> list[tuple[str, str]]:
    """Suite and name of the cells that this pass has measured, where that is their newest record.

    Where it is not, another sweep has measured the cell since, and this one measures it again.
    """
    folders = [Path(folder) for *_, folder in done(session)]
    newest = {folder: recording.newest(folder) for folder in folders}
    return [
        (folder.parent.name, folder.name)
        for folder, worker in newest.items()
        if worker is not None and worker.session == session.id
    ]


def any_done(session_id: str) -> bool:
    """Whether a session has measured a cell, in any pass."""
    return any(paths.STATE.glob(f"measured-{session_id}-*.jsonl"))


def earlier(session: Session, cell: Done, others: bool) -> Path | None:
    """The folder of a cell that has run the same in this pass; None where none has.

    Args:
        session: with the pass.
        cell: that is to run.
        others: whether another cell than itself will do.
    """
    same = [folder for *what, folder in done(session) if tuple(what) == cell[:2]]
    if cell[2] in same:
        return Path(cell[2])
    return Path(same[0]) if same and others else None


def note(session: Session, cell: Done) -> None:
    """Say that a cell is done."""
    if session.driven and cell not in done(session):
        with _path(session).open("a") as file:
            file.write("\n" + json.dumps(cell))  # first: the line before may have been cut off


def forget(session: Session) -> None:
    """Remove what is known of the passes of a session."""
    for path in paths.STATE.glob(f"measured-{session.id}-*.jsonl"):
        path.unlink()


def take_over(model: Path, of: Path) -> None:
    """Have another cell's saved model as one's own, without a second copy on the disk."""
    model.unlink(missing_ok=True)
    if of.exists():
        model.parent.mkdir(parents=True, exist_ok=True)
        os.link(of, model)
