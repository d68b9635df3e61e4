"""How fast a step's work was done, and what share of the measured peaks that is.

mfu counts the model's work once, and only the tokens that count; hfu all that was executed: blocks
that were computed again, scores that a fused kernel of attention multiplies again in its backward
pass, and padding too (Chowdhery et al. 2022, "PaLM", appendix B).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from cputrain.experiment import Experiment
from cputrain.model import flops
from cputrain.record.worker import WorkerRecord

Peaks = Mapping[str, Mapping[str, float]]
"""Measured matmul FLOP/s by type of number (fp32, bf16, int8), then by number of threads."""


def columns(worker: WorkerRecord, step_s: float, peaks: Peaks) -> dict[str, Any]:
    """Rates of a worker whose step takes so many seconds.

    Returns:
        tokens_per_s, gflop_per_s: by the executed FLOPs; mfu; and hfu where that is another.
    """
    counts = worker.work
    executed, once = best_step_s(worker, peaks), _once_s(worker, peaks)
    return {
        "tokens_per_s": counts.tokens_per_step / step_s,
        "gflop_per_s": counts.flops_per_step / step_s / 1e9,
        "mfu": once / step_s if once else None,
        "hfu": executed / step_s if executed and executed != once else None,
    }


def busy_cpus(worker: WorkerRecord) -> str:
    """How many CPUs a worker's threads can keep busy: the key of its peak."""
    return str(min(worker.place.threads, len(worker.place.cpus)))


def best_step_s(worker: WorkerRecord, peaks: Peaks) -> float | None:
    """Seconds that a step's matrix products take at the measured peaks, each at its own type's.

    None where a peak with as many threads is missing.
    """
    return at_peak_s(worker.work.flops_by_type, busy_cpus(worker), peaks)


def _once_s(worker: WorkerRecord, peaks: Peaks) -> float | None:
    """The same of the model's work, counted once, for the tokens that count."""
    training = worker.experiment.get("training", {})
    own = _own_shares(msgspec.json.encode(worker.experiment))
    by_type = {kind: n * own.get(kind, 1.0) for kind, n in worker.work.flops_by_type.items()}
    best = at_peak_s(by_type, busy_cpus(worker), peaks)
    # Of a masked objective all tokens are the model's work, though few are targets.
    if best is None or training.get("packing") != "padded" or worker.data is None:
        return best
    share = worker.data.counted_share if training.get("objective") == "causal" else None
    return best * (1.0 if share is None else share)


@functools.lru_cache(maxsize=4096)
def _own_shares(experiment: bytes) -> Mapping[str, float]:
    """The share of what an experiment executes that is its model's own work, by type of number.

    Args:
        experiment: as JSON; many machines' records have the same. One that does not say all that
            it ran has no shares.
    """
    try:
        said = Experiment.from_json(msgspec.json.decode(experiment))
        own, all_of_it = (flops.flops_per_step(said, again=a).by_type for a in (False, True))
    except ValueError:
        return {}
    return {kind: own.get(kind, 0) / executed for kind, executed in all_of_it.items()}


def at_peak_s(by_type: Mapping[str, float], threads: str, peaks: Peaks) -> float | None:
    """Seconds that matrix products take at the measured peaks.

    Args:
        by_type: FLOPs by type of number.
        threads: key of the peaks.
        peaks: where one is missing, the answer is None.
    """
    total = 0.0
    for kind, work in by_type.items():
        rate = peak(kind, threads, peaks)
        if not rate:
            return None
        total += work / rate
    return total


def peak(kind: str, threads: str, peaks: Peaks) -> float | None:
    """Measured matmul FLOP/s of a type of number, and fp32's where that is more.

    A CPU without bf16 or int8 products multiplies such numbers fastest once they are widened, as
    XLA does there: that takes time by the numbers, and products by their third dimension too.
    """
    rate = peaks.get(kind, {}).get(threads)
    return max(rate, peaks.get("fp32", {}).get(threads, 0.0)) if rate else None
