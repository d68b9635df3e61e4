"""The columns of the tables, and what a cell's workers say for each."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import polars as pl

from cputrain.record.worker import WorkerRecord
from cputrain.results import asked, circumstances
from cputrain.results.rows import CellResult

Row = dict[str, Any]
"""One cell: a value, or None where unknown, for every column."""

Peaks = Mapping[str, Mapping[str, float]]
"""Measured matmul FLOP/s by type of number (fp32, bf16, int8), then by number of threads."""

PARTS = ("parameters", "gradients", "optimizer", "activations", "buffers", "queue", "framework")
MEMORY = {part: f"memory_{part}_bytes" for part in PARTS}
"""Part of the estimated memory, as the record names it -> its column."""

VERSIONS = ("torch", "jax", "ipex", "numpy", "cc_version", "python")
"""Versions that have a column, by their name in the record."""

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("machine", "suite", "value"), pl.String()),
    **asked.FIELDS,
    **dict.fromkeys(("mode", "status", "reason"), pl.String()),
    **dict.fromkeys(("workers", "steps", "samples"), pl.Int64()),
    **dict.fromkeys(("step_s", "step_s_low", "step_s_high", "step_s_min"), pl.Float64()),
    **dict.fromkeys(("tokens_per_s", "gflop_per_s", "mfu"), pl.Float64()),
    "peak_rss_bytes": pl.Int64(),
    **dict.fromkeys(("first_loss", "last_loss"), pl.Float64()),
    **dict.fromkeys(("effect", "effect_low", "effect_high"), pl.Float64()),
    "above_noise": pl.Boolean(),
    "disturbed_samples": pl.Int64(),
    **dict.fromkeys(("run_queue_share", "steal_share"), pl.Float64()),
    **dict.fromkeys(("minor_faults_per_step", "voluntary_switches_per_step"), pl.Float64()),
    **dict.fromkeys(("energy_j_per_step", "clock_ghz"), pl.Float64()),
    "anon_huge_bytes": pl.Int64(),
    **dict.fromkeys(("first_step_s", "import_s", "outside_s"), pl.Float64()),
    **dict.fromkeys(("n_params", "n_trained", "flops_per_step", "flops_formula"), pl.Int64()),
    **dict.fromkeys(MEMORY.values(), pl.Int64()),
    **dict.fromkeys(("memory_estimate_bytes", "optimizer_state_bytes"), pl.Int64()),
    **dict.fromkeys(("data_s", "prepared_s", "epoch_s"), pl.Float64()),
    **dict.fromkeys(("wait_share", "counted_share"), pl.Float64()),
    **dict.fromkeys(("simulated", "composed"), pl.String()),
    **dict.fromkeys(("data_source", "data_fingerprint"), pl.String()),
    **dict.fromkeys((*VERSIONS, "commit", "dirty"), pl.String()),
    **dict.fromkeys(("session", "started"), pl.String()),
}


def row(cell: CellResult, peaks: Peaks) -> Row:
    """A cell's row; what needs other cells (intervals, effects) is left None.

    Args:
        cell: the cell.
        peaks: of its machine.
    """
    found: Row = dict.fromkeys(SCHEMA)
    found |= {"machine": cell.machine, "suite": cell.suite, "value": cell.value}
    found |= {"mode": cell.mode, "status": cell.status, "reason": cell.reason}
    found |= {"step_s": cell.step_s, "commit": cell.commit}
    if cell.experiment:
        found |= asked.row(cell.experiment)
    if cell.workers:
        found |= _provenance(cell.workers[-1])
    if cell.workers and cell.ok:
        found |= _measured(cell.workers)
        found |= circumstances.columns(cell.workers)
        found |= _rates(cell.workers[-1], found["step_s"], peaks)
        found |= _counts(cell.workers[-1])
        found |= _data(cell.workers, found["step_s"])
    return found


def _provenance(last: WorkerRecord) -> Row:
    data = last.data
    return {
        **{name: last.versions.get(name) for name in VERSIONS},
        "data_source": data.source if data else None,
        "data_fingerprint": data.fingerprint if data else None,
        "dirty": " ".join(last.dirty) or None,
        "session": last.session,
        "started": last.started,
        "first_loss": last.first_loss,
        "last_loss": last.last_loss,
    }


def _measured(workers: tuple[WorkerRecord, ...]) -> Row:
    every = [worker.step_s for worker in workers]
    peak_rss = [w.peak_rss_bytes for w in workers if w.peak_rss_bytes is not None]
    samples = [sample for worker in workers for sample in worker.samples]
    outside = [
        worker.wall_s - worker.training_s - worker.phases.get("import_s", 0.0)
        for worker in workers
        if worker.wall_s is not None and worker.training_s is not None
    ]
    return {
        "workers": len(workers),
        "samples": len(samples),
        "steps": sum(map(len, every)),
        "step_s_min": min(map(min, every)),
        "disturbed_samples": sum(sample.disturbed for sample in samples),
        "peak_rss_bytes": max(peak_rss, default=None),
        **{name: _phase(workers, name) for name in ("first_step_s", "import_s")},
        "outside_s": statistics.median(outside) if outside else None,
    }


def _phase(workers: tuple[WorkerRecord, ...], name: str) -> float | None:
    """Seconds of a part of the workers' lives: median; None where no record says."""
    found = [worker.phases[name] for worker in workers if name in worker.phases]
    return statistics.median(found) if found else None


def busy_cpus(worker: WorkerRecord) -> str:
    """How many CPUs a worker's threads can keep busy: the key of its peak."""
    return str(min(worker.place.threads, len(worker.place.cpus)))


def best_step_s(worker: WorkerRecord, peaks: Peaks) -> float | None:
    """Seconds that a step's matrix products take at the measured peaks, each at its own type's.

    None where a peak with as many threads is missing.
    """
    threads = busy_cpus(worker)
    total = 0.0
    for kind, work in worker.work.flops_by_type.items():
        peak = peaks.get(kind, {}).get(threads)
        if not peak:
            return None
        total += work / peak
    return total


def _rates(last: WorkerRecord, step_s: float, peaks: Peaks) -> Row:
    """Rates by the executed FLOPs; mfu is the step's least time at the peaks over its own."""
    counts, best = last.work, best_step_s(last, peaks)
    return {
        "tokens_per_s": counts.tokens_per_step / step_s,
        "gflop_per_s": counts.flops_per_step / step_s / 1e9,
        "mfu": best / step_s if best else None,
    }


def _counts(last: WorkerRecord) -> Row:
    """What was counted before the run."""
    names = ("n_params", "n_trained", "flops_per_step", "flops_formula", "memory_estimate_bytes")
    return {
        **{name: getattr(last.work, name) for name in names},
        **{column: getattr(last.work.memory, part) for part, column in MEMORY.items()},
        **{
            name: getattr(last, name) for name in ("optimizer_state_bytes", "simulated", "composed")
        },
    }


def _data(workers: tuple[WorkerRecord, ...], step_s: float) -> Row:
    """The data path: seconds to load it and to prepare it once, what a step waits, an epoch."""
    data = workers[-1].data
    times = [
        (sample.waited_s, sum(sample.step_s))
        for worker in workers
        for sample in worker.samples
        if sample.waited_s is not None
    ]
    spent_s = sum(spent for _, spent in times)
    return {
        "data_s": _phase(workers, "data_s"),
        "prepared_s": data.prepared_s if data else None,
        "counted_share": data.counted_share if data else None,
        "epoch_s": step_s * data.steps_per_epoch if data and data.steps_per_epoch else None,
        "wait_share": sum(waited for waited, _ in times) / spent_s if times else None,
    }
