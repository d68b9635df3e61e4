"""Records that come, and those that lie here: what is new is added, what is here stays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from cputrain.record.altered import Altered
from cputrain.record.cell import CellRecord
from cputrain.record.parts import PartsRecord
from cputrain.record.worker import WorkerRecord
from cputrain.results.exchange.checked import Record

Came = Literal["added", "extended", "equal"]
DIFFERS = "differs from what lies here under the same name; what is here stays"


@dataclass(frozen=True)
class Union:
    """Two records of one cell as one.

    Attributes:
        record: what is to lie here; None where it is what lies here.
        came: what the other one brought.
        refused: why not, of what was not taken.
    """

    record: Record | None
    came: Came
    refused: list[str] = field(default_factory=list)


def union(here: Record | None, other: Record) -> Union:
    """What is to lie here after a record has come.

    Workers are told apart by their id and session. One that is on both sides is equal where it has
    measured the same: paths in a packed copy have been taken out. One that is here unproven gives
    way to its own later state, as it does in a sweep.
    """
    if here is None:
        return Union(other, "added")
    if isinstance(here, CellRecord) and isinstance(other, CellRecord):
        return _of_cells(here, other)
    if isinstance(here, PartsRecord) and isinstance(other, PartsRecord):
        same = _is_same(here.worker, other.worker) and here.watched == other.watched
        return Union(None, "equal", [] if same else [DIFFERS])
    same = (
        isinstance(here, Altered) and isinstance(other, Altered) and _sides(here) == _sides(other)
    )
    return Union(None, "equal", [] if same else [DIFFERS])


def _of_cells(here: CellRecord, other: CellRecord) -> Union:
    every, refused, is_new = list(here.workers), [], False
    for worker in other.workers:
        known = [mine for mine in here.workers if _name(mine) == _name(worker)]
        early = [mine for mine in known if mine.status == "unproven" != worker.status]
        if known and not early and not any(_is_same(mine, worker) for mine in known):
            refused.append(f"worker {worker.id} of session {worker.session} {DIFFERS}")
        elif not known or early:
            every = [mine for mine in every if mine not in early] + [worker]
            is_new = True
    if not is_new:
        return Union(None, "equal", refused)
    every.sort(key=lambda worker: worker.started)
    newest = here if every[-1] in here.workers else other
    schema = max(here.schema, other.schema)
    return Union(msgspec.structs.replace(newest, workers=every, schema=schema), "extended", refused)


def _name(worker: WorkerRecord) -> tuple[str, str]:
    return worker.session, worker.id


def _is_same(mine: WorkerRecord, theirs: WorkerRecord) -> bool:
    """Whether two records of a worker say that it has run and measured the same."""
    return _measured(mine) == _measured(theirs)


def _measured(worker: WorkerRecord) -> tuple[object, ...]:
    run = (worker.status, worker.started, worker.identity, worker.repeats)
    blocks = [(s.step_s, s.loss) for s in worker.samples]
    beside = [(p.sample, p.first, p.reference.step_s, p.reference.loss) for p in worker.pairs]
    return (*run, blocks, beside)


def _sides(its: Altered) -> tuple[object, ...]:
    return its.session, its.started, its.status, its.altered, its.plain, its.reference
