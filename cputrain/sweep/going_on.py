"""What a sweep says of one that was stopped before it."""

from __future__ import annotations

from dataclasses import replace

from cputrain.run import measured
from cputrain.run.session import Session
from cputrain.sweep.checkpoint import SweepCheckpoint
from cputrain.wording import counted


def line(session: Session, checkpoint: SweepCheckpoint, fresh: bool) -> str:
    """That it goes on with one, or why not; empty where none was stopped.

    Args:
        session: of this sweep.
        checkpoint: of this sweep.
        fresh: whether it was asked to start over.
    """
    return _went_before(session, checkpoint) or _left_behind(checkpoint, fresh)


def _went_before(session: Session, checkpoint: SweepCheckpoint) -> str:
    cells = len(measured.done(replace(session, number=checkpoint.number)))
    if checkpoint.number == 1 and not cells:
        return ""
    where = "" if checkpoint.number == 1 else f" pass {checkpoint.number},"
    goes_on = f"going on where the last run stopped:{where} {counted(cells, 'cell')} done"
    return f"{goes_on} (--fresh starts over)"


def _left_behind(checkpoint: SweepCheckpoint, fresh: bool) -> str:
    why = None if fresh else SweepCheckpoint.left_behind(checkpoint.path, checkpoint.wanted)
    return f"the run that was not finished {why}: all is measured anew" if why else ""
