"""What went on around a cell's steps: its workers' noise readings and the state they ran in."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from cputrain.results.records import WorkerRecord

SHARES = ("run_queue_share", "steal_share")
COUNTS = ("minor_faults", "voluntary_switches", "energy_j")


def columns(workers: Sequence[WorkerRecord]) -> dict[str, Any]:
    """Columns of a cell that went well; None where its records do not say.

    run_queue_share, steal_share: mean over the samples (see `machine.noise.between`).
    minor_faults_per_step, voluntary_switches_per_step, energy_j_per_step (all packages, joules):
    median over the samples; None where a step is reckoned from a part of it.
    clock_ghz: the observed clock, an estimate: median over the samples.
    anon_huge_bytes: memory in transparent huge pages, the most of all workers.
    """
    found: dict[str, Any] = {name: _mean(_readings(workers, name)) for name in SHARES}
    for name in COUNTS:
        found[f"{name}_per_step"] = _median(_per_step(workers, name))
    found["clock_ghz"] = _median(_readings(workers, "clock_ghz"))
    states = [worker.get("state") or {} for worker in workers]
    huge = [s["anon_huge_bytes"] for s in states if s.get("anon_huge_bytes") is not None]
    return found | {"anon_huge_bytes": max(huge, default=None)}


def _readings(workers: Sequence[WorkerRecord], name: str) -> list[float]:
    noise = [s.get("noise") or {} for worker in workers for s in worker["samples"]]
    return [one[name] for one in noise if one.get(name) is not None]


def _per_step(workers: Sequence[WorkerRecord], name: str) -> list[float]:
    """A count per step, by sample."""
    samples = [s for worker in workers if not worker.get("composed") for s in worker["samples"]]
    counts = [((s.get("noise") or {}).get(name), len(s["step_s"])) for s in samples]
    return [count / steps for count, steps in counts if count is not None]


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None
