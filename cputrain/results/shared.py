"""Cells that share their workers: what one has measured in a pass is not measured again.

A cell whose worker `repeats` another cell's has a copy of that one's record. All cells that are
linked so have the same workers then: each one that really ran, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.record.worker import WorkerRecord


@dataclass(frozen=True)
class Shared:
    """The workers of a cell.

    Attributes:
        owner: the cell of its group that ran most, as suite/cell; itself where it is alone.
        workers: of all cells of the group, oldest first.
    """

    owner: str
    workers: tuple[WorkerRecord, ...]


def by_cell(cells: Mapping[str, Sequence[WorkerRecord]]) -> dict[str, Shared]:
    """What each cell shares with others.

    Args:
        cells: by name as suite/cell, the workers that are a number, all of one session. Of a
            cell whose workers ran different experiments, as of two values that had one name,
            those that ran what its newest did.
    """
    cells = {
        name: [worker for worker in workers if worker.identity == workers[-1].identity]
        for name, workers in cells.items()
    }
    shared: dict[str, Shared] = {}
    for group in _groups(cells):
        owner = max(group, key=lambda name: sum(not w.repeats for w in cells[name]))
        # A copy counts where what it is a copy of is not there.
        ran = [w for name in group for w in cells[name] if w.repeats not in group]
        workers = ran or list(cells[owner])
        workers.sort(key=lambda worker: worker.started)
        shared |= dict.fromkeys(group, Shared(owner, tuple(workers)))
    return shared


def _groups(cells: Mapping[str, Sequence[WorkerRecord]]) -> list[list[str]]:
    """The names of cells that are linked by repeating each other in one session; most are alone.

    A worker links to a cell that ran its experiment: it is no copy of what is there else.
    """
    groups = {name: [name] for name in cells}
    for name, workers in cells.items():
        for worker in workers:
            other = cells.get(worker.repeats or "", ())
            same = worker.session, worker.identity
            if any((w.session, w.identity) == same for w in other) and worker.repeats is not None:
                both = dict.fromkeys((*groups[worker.repeats], *groups[name]))
                groups |= {linked: list(both) for linked in both}
    unique = {tuple(group): group for group in groups.values()}
    return list(unique.values())
