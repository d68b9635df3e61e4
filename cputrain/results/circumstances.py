"""What went on around a cell's steps: its workers' noise readings and the state they ran in."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from cputrain.record.worker import WorkerRecord

SHARES = ("run_queue_share", "steal_share")
COUNTS = ("minor_faults", "voluntary_switches", "energy_j")


def columns(workers: Sequence[WorkerRecord]) -> dict[str, Any]:
    """Columns of a cell that went well; None where its records do not say.

    run_queue_share, steal_share: mean over the samples (see `machine.noise.between`).
    minor_faults_per_step, voluntary_switches_per_step, energy_j_per_step (all packages, joules):
    median over the samples; None where a step is reckoned from a part of it.
    clock_ghz: the observed clock, an estimate: median over the samples.
    round_trip_ns: between two CPUs, after a block (`machine.round_trip`): median over the samples.
    anon_huge_bytes: memory in transparent huge pages, the most of all workers.
    """
    row: dict[str, Any] = {name: _mean(_readings(workers, name)) for name in SHARES}
    for name in COUNTS:
        row[f"{name}_per_step"] = _median(_per_step(workers, name))
    row["clock_ghz"] = _median(_readings(workers, "clock_ghz"))
    row["round_trip_ns"] = _median(_readings(workers, "round_trip_after_ns"))
    huge = [worker.state.anon_huge_bytes for worker in workers if worker.state]
    row["anon_huge_bytes"] = max((size for size in huge if size is not None), default=None)
    return row


def _readings(workers: Sequence[WorkerRecord], name: str) -> list[float]:
    noise = [getattr(sample.noise, name) for worker in workers for sample in worker.samples]
    return [value for value in noise if value is not None]


def _per_step(workers: Sequence[WorkerRecord], name: str) -> list[float]:
    """A count per step, by sample."""
    samples = [s for worker in workers if not worker.composed for s in worker.samples]
    counts = [(getattr(sample.noise, name), len(sample.step_s)) for sample in samples]
    return [count / steps for count, steps in counts if count is not None]


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None
