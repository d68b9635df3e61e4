"""The records of references: workers that cells of a suite were measured beside."""

from __future__ import annotations

from pathlib import Path

from cputrain.record.answers import Finished
from cputrain.record.cell import CellKey
from cputrain.record.worker import WorkerRecord
from cputrain.run import recording
from cputrain.run.conductor.protocol import Started

FILE = "references.json"
"""In the folder of the suite's baseline."""


def proven(
    record: WorkerRecord, started: Started, proof: Finished, code_was_cached: bool, wall_s: float
) -> WorkerRecord:
    """The record of a reference that has started, and has proven that it trains.

    Args:
        record: as it was before it started.
        started: what the conductor says of it.
        proof: that it trained.
        code_was_cached: see `WorkerRecord`.
        wall_s: seconds that it took so far.
    """
    record = record.with_ready(started.ready, started.placement).with_proof(proof)
    return record.but(
        status="ok",
        forked=started.forked,
        code_was_cached=code_was_cached,
        reference=started.worker,
        wall_s=wall_s,
    )


def save(folder: Path, key: CellKey, worker: WorkerRecord) -> None:
    """Add a reference to those of its suite, in the folder of the baseline's cell.

    Args:
        folder: of a cell that is measured beside it.
        key: of that cell.
        worker: the reference, proven to train; its blocks are in the records of the cells.

    Raises:
        OSError, files.RecordError: see `recording.add`.
    """
    assert key.baseline is not None
    recording.add(folder.with_name(key.baseline) / FILE, key, worker)
