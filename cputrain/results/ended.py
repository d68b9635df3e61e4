"""What became of the cells that one asv call was to run: a process that died is not silent."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cputrain.results import records
from cputrain.results.records import FILE, Problem

DIED = "its process ended before its training was proven"


def without_number(folder: Path, run: str, cells: Iterable[str], workers: int) -> dict[str, str]:
    """The cells of a suite of which something is missing without a reason, and what.

    Args:
        folder: of the suite's run records: output/<machine>/<suite>.
        run: of the asv call (`Session.run`).
        cells: names of those that it was to run.
        workers: that were to prove each.

    Returns:
        One line by cell. Cells that a worker's record calls skipped, failed or the like are not
        in it: the worker has said so itself.
    """
    missing = {}
    for cell in cells:
        record = records.read_file(folder / cell / FILE)
        if isinstance(record, Problem):
            gone = not (folder / cell / FILE).exists()
            missing[cell] = DIED if gone else f"its run record is not usable: {record.reason}"
            continue
        of_run = [worker for worker in record.workers if worker.run == run]
        if any(worker.status not in ("ok", "unproven") for worker in of_run):
            continue
        if sum(worker.ok for worker in of_run) < workers:
            missing[cell] = DIED
    return missing
