"""Rows of where the time of a step goes, from the records and the machine's measured rates."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import polars as pl

from cputrain.analysis.roofline import Limits
from cputrain.record.parts import PartsRecord
from cputrain.record.watched import PartTimes, WatchedSteps
from cputrain.record.worker import WorkerRecord
from cputrain.results.machines import MachineFacts
from cputrain.results.rates import busy_cpus, peak

Row = dict[str, Any]

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("machine", "shape", "engine", "status", "reason"), pl.String()),
    "threads": pl.Int64(),
    "part": pl.String(),
    **dict.fromkeys(("seconds", "share"), pl.Float64()),
    **dict.fromkeys(("calls", "flops", "bytes"), pl.Int64()),
    **dict.fromkeys(("at_peak_s", "at_bandwidth_s", "at_dispatch_s"), pl.Float64()),
    "limit": pl.String(),
    "limit_share": pl.Float64(),
    **dict.fromkeys(("step_s", "watched_step_s", "watching", "sum_over_step"), pl.Float64()),
    "tolerance": pl.Float64(),
    "sums_up": pl.Boolean(),
    **dict.fromkeys(("how", "unseen"), pl.String()),
    "disturbed": pl.Boolean(),
    **dict.fromkeys(("started", "commit"), pl.String()),
}
"""Column -> type. Of a part:

seconds: median over the watched steps; share: of `step_s`.
calls, flops, bytes: of one step (`model.parts`).
at_peak_s, at_bandwidth_s, at_dispatch_s: least seconds by each limit; limit, limit_share: of
`roofline.Limits`.

Of the whole run, in each of its rows:

step_s: median of the steps that were not watched; watched_step_s: of those that were, taken in
turns with them; watching: the median of their ratios, which is what watching costs.
sum_over_step: the sum of the parts' seconds over step_s; sums_up: whether that is within
`tolerance` of 1.
"""


def rows(records: Sequence[PartsRecord], facts: MachineFacts) -> list[Row]:
    """One row for each part of each run, in order; one row for a run without a number."""
    return [row for record in records for row in _of_run(record, facts)]


def _of_run(record: PartsRecord, facts: MachineFacts) -> list[Row]:
    worker, watched = record.worker, record.watched
    row: Row = dict.fromkeys(SCHEMA)
    row |= {"machine": worker.machine, "shape": record.shape, "engine": record.engine}
    row |= {"status": worker.status, "reason": worker.reason}
    row |= {"started": worker.started, "commit": worker.commit}
    if not worker.ok or watched is None:
        return [row]
    whole = _whole(worker, watched)
    return [
        {**row, **whole, "part": name, **_part(name, part, watched, whole["step_s"], worker, facts)}
        for name, part in watched.parts.items()
        if any(part.seconds)
    ]


def _whole(worker: WorkerRecord, watched: WatchedSteps) -> Row:
    plain = worker.step_s
    step_s = statistics.median(plain)
    total = sum(statistics.median(part.seconds) for part in watched.parts.values())
    ratios = [with_ / without for with_, without in zip(watched.step_s, plain, strict=True)]
    return {
        "threads": worker.place.threads,
        "step_s": step_s,
        "watched_step_s": statistics.median(watched.step_s),
        "watching": statistics.median(ratios),
        "sum_over_step": total / step_s,
        "tolerance": watched.tolerance,
        "sums_up": abs(total / step_s - 1) <= watched.tolerance,
        "how": watched.how,
        "unseen": watched.unseen,
        "disturbed": any(sample.disturbed for sample in worker.samples),
    }


def _part(
    name: str,
    part: PartTimes,
    watched: WatchedSteps,
    step_s: float,
    worker: WorkerRecord,
    facts: MachineFacts,
) -> Row:
    seconds = statistics.median(part.seconds)
    threads = busy_cpus(worker)
    kinds = [kind for kind, flops in worker.work.flops_by_type.items() if flops]
    # Products of several types are not told apart by part.
    flop_per_s = peak(kinds[0], threads, facts.peaks) if len(kinds) == 1 else None
    limits = Limits(
        seconds,
        part.flops / flop_per_s if flop_per_s else None,
        _over(part.bytes, facts.bandwidth.get(threads)),
        watched.dispatch_s * part.calls
        if watched.dispatch_s is not None and part.calls is not None
        else None,
        fits_cache=not (facts.last_caches and part.bytes and part.bytes > facts.last_caches),
    )
    if name == "framework":  # what lies between operations is nothing but dispatch
        limits = Limits(seconds, None, None, seconds)
    return {
        "seconds": seconds,
        "share": seconds / step_s,
        "calls": part.calls,
        "flops": part.flops,
        "bytes": part.bytes,
        "at_peak_s": limits.peak_s,
        "at_bandwidth_s": limits.bandwidth_s,
        "at_dispatch_s": limits.dispatch_s,
        "limit": limits.limit,
        "limit_share": limits.share,
    }


def _over(amount: int | None, rate: float | None) -> float | None:
    return amount / rate if amount is not None and rate else None
