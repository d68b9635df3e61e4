"""The columns of the tables, and what a cell's workers say for each."""

from __future__ import annotations

import statistics
from typing import Any

import polars as pl

from cputrain.record.sample import Sample
from cputrain.record.worker import WorkerRecord
from cputrain.results import circumstances, experiment_columns, rates
from cputrain.results.rates import Peaks
from cputrain.results.rows import CellResult

Row = dict[str, Any]
"""One cell: a value, or None where unknown, for every column."""

PARTS = ("parameters", "gradients", "optimizer", "activations", "buffers", "queue", "framework")
MEMORY = {part: f"memory_{part}_bytes" for part in PARTS}
"""Part of the estimated memory, as the record names it -> its column."""

VERSIONS = ("torch", "jax", "ipex", "numpy", "cc_version", "python")
"""Versions that have a column, by their name in the record."""

PAIRED: dict[str, pl.DataType] = {
    **dict.fromkeys(("effect", "effect_low", "effect_high", "same_within"), pl.Float64()),
    **dict.fromkeys(("first_effect", "later_effect", "later_high"), pl.Float64()),
    **dict.fromkeys(("verdict", "doubt"), pl.String()),
    **dict.fromkeys(("further_passes", "passes", "pairs", "dropped_pairs"), pl.Int64()),
    "elsewhere_pairs": pl.Int64(),
    "place": pl.String(),
    "places_differ": pl.Float64(),
    **dict.fromkeys(("dropped_cell_share", "dropped_reference_share"), pl.Float64()),
    **dict.fromkeys(("held_up_cell_share", "held_up_reference_share"), pl.Float64()),
    "same_as": pl.String(),
}
"""What comes from blocks of a cell beside blocks of its reference (`analysis.effects`):

effect: time of the cell over its reference's, with its 99 % interval; None for the `reason`.
same_within: the least ratio that it is the same time within, both ways, by two tests at 5 %.
first_effect: of the first pass alone; later_effect: of those after it, and its 99 % interval's end.
verdict: of `paired.verdict`; further_passes: how many more a verdict needs, about.
doubt: why nothing is told of an interval that leaves out 1, in a few words; None where it is told.
passes, pairs: that count; dropped_pairs: that do not, as others had the CPUs meanwhile;
    elsewhere_pairs: that do not, as the CPUs lay elsewhere.
place: where the CPUs lay (`analysis.places`); None where that is not known.
places_differ: where that is another place than the usual one, the ratio by which the effect may
    differ from that there, beyond its interval (`analysis.slowdowns`); None at the usual one.
dropped_cell_share, dropped_reference_share: of all pairs, those whose block of that side was hit.
held_up_cell_share, held_up_reference_share: of the time of that side's blocks, what threads waited
    while others had their CPUs; the effect leaves it out. None where that cannot be told.
same_as: suite/cell whose workers these are, where that has run the same experiment.
"""

PASSES = ("forward_s", "backward_s", "optimizer_s")
"""Seconds of a step's passes: median over the samples; None for the reason in no_passes."""

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("machine", "suite", "value"), pl.String()),
    **experiment_columns.FIELDS,
    **dict.fromkeys(("mode", "status", "reason"), pl.String()),
    **dict.fromkeys(("workers", "steps", "samples"), pl.Int64()),
    **dict.fromkeys(("step_s", "step_s_min"), pl.Float64()),
    **dict.fromkeys(PASSES, pl.Float64()),
    "no_passes": pl.String(),
    **dict.fromkeys(("tokens_per_s", "gflop_per_s", "mfu", "hfu"), pl.Float64()),
    "peak_rss_bytes": pl.Int64(),
    **dict.fromkeys(("first_loss", "last_loss"), pl.Float64()),
    **PAIRED,
    **dict.fromkeys(("forked", "steady"), pl.Boolean()),
    "disturbed_samples": pl.Int64(),
    **dict.fromkeys(("run_queue_share", "steal_share"), pl.Float64()),
    **dict.fromkeys(("minor_faults_per_step", "voluntary_switches_per_step"), pl.Float64()),
    **dict.fromkeys(("energy_j_per_step", "clock_ghz", "round_trip_ns"), pl.Float64()),
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
    """A cell's row; what needs other cells (`PAIRED`, but same_as) is left None.

    Args:
        cell: the cell.
        peaks: of its machine.
    """
    values: Row = dict.fromkeys(SCHEMA)
    values |= {"machine": cell.machine, "suite": cell.suite, "value": cell.value}
    values |= {"mode": cell.mode, "status": cell.status, "reason": cell.reason}
    values |= {"step_s": cell.step_s, "commit": cell.commit, "same_as": cell.same_as}
    if cell.experiment:
        values |= experiment_columns.row(cell.experiment)
    if cell.workers:
        values |= _provenance(cell.workers[-1])
    if cell.workers and cell.ok:
        values |= _measured(cell.workers)
        values |= circumstances.columns(cell.workers)
        values |= rates.columns(cell.workers[-1], values["step_s"], peaks)
        values |= _counts(cell.workers[-1])
        values |= _data(cell.workers, values["step_s"])
    return values


def add_reason(row: Row, words: str | None) -> None:
    """Say it after the reasons that the row has; nothing where there are no words."""
    row["reason"] = "; ".join(filter(None, (row["reason"], words))) or None


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
        # Beside a reference, its blocks and both workers' stops are in the wall-clock time too.
        if worker.wall_s is not None and worker.training_s is not None and not worker.pairs
    ]
    # A fork imports nothing; what another worker has compiled is not compiled again.
    steady = [worker for worker in workers if worker.steady is not None]
    imported = tuple(worker for worker in workers if not worker.forked)
    compiled = tuple(worker for worker in workers if _whole_first_step(worker))
    return {
        "workers": len(workers),
        "forked": workers[-1].forked if len({w.forked for w in workers}) == 1 else None,
        "steady": all(w.is_steady for w in steady) if steady else None,
        "samples": len(samples),
        "steps": sum(map(len, every)),
        "step_s_min": min(map(min, every)),
        **{name: _median_of(samples, name) for name in PASSES},
        "no_passes": workers[-1].no_passes,
        "disturbed_samples": sum(sample.disturbed for sample in samples),
        "peak_rss_bytes": max(peak_rss, default=None),
        "import_s": _phase(imported, "import_s"),
        "first_step_s": _phase(compiled, "first_step_s"),
        "outside_s": statistics.median(outside) if outside else None,
    }


def _whole_first_step(worker: WorkerRecord) -> bool:
    """Whether its first step is its experiment's: code that it found is part of a warm start."""
    return not worker.code_was_cached or worker.experiment["runtime"]["jit_state"] == "warm"


def _median_of(samples: list[Sample], name: str) -> float | None:
    """Median of a reading over the samples that have it; None where none has."""
    known = [getattr(sample, name) for sample in samples]
    return statistics.median(seconds) if (seconds := [s for s in known if s is not None]) else None


def _phase(workers: tuple[WorkerRecord, ...], name: str) -> float | None:
    """Seconds of a part of the workers' lives: median; None where no record says."""
    seconds = [worker.phases[name] for worker in workers if name in worker.phases]
    return statistics.median(seconds) if seconds else None


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
