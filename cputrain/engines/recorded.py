"""Evidence in workers' records, held against the type that its engine declares."""

from __future__ import annotations

from collections.abc import Iterable

from cputrain.engines import specs
from cputrain.experiment import Experiment
from cputrain.record.evidence import Evidence, decoded
from cputrain.record.files import RecordError
from cputrain.record.worker import WorkerRecord


def evidence(worker: WorkerRecord) -> Evidence | None:
    """A worker's evidence; None where it left none, or its engine is not known here.

    Raises:
        RecordError: a field is missing, unknown or of another type; one line that names it.
    """
    engine = Experiment.from_json(worker.experiment).runtime.engine
    if worker.evidence is None or engine not in specs.NAMES:
        return None
    known: Evidence = decoded(specs.of(engine).evidence_type, worker.evidence)
    return known


def require_readable(workers: Iterable[WorkerRecord]) -> None:
    """Raise RecordError for the first of a record's workers whose evidence is none."""
    for worker in workers:
        try:
            evidence(worker)
        except RecordError as error:
            reason = f"not a run record (worker {worker.id:.20}: {error})"
            raise RecordError(f"{reason}; delete it and run the cell again") from error
