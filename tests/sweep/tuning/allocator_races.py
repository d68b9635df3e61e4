"""Races of allocators by the production code, on simulated step times."""

import random

from settled import settled
from simulated_workers import Simulated

from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.race import Racing

BEST = settled()
NAMES = ("glibc_thresholds", "jemalloc", "tcmalloc", "mimalloc")


def candidate(allocator):
    changes = {"allocator": allocator}
    return TuningCandidate(f"allocator={allocator}", changes, BEST.but(**changes))


def run(
    ratios, seed=0, step_s=0.2, until=1e9, free=1 << 50, latest=None, host=Simulated, **machine
):
    """A race of allocators whose steps take so many times those of the reference."""
    times = dict(zip(NAMES, ratios, strict=False))
    workers = host(lambda e: step_s * times.get(e.system.allocator, 1.0), seed=seed, **machine)
    racing = Racing(workers, random.Random(seed), workers.now, lambda: free)
    reference = workers.start(BEST, 1e9)
    candidates = [candidate(name) for name in times]
    ran = racing.race("allocator", BEST, reference, candidates, until, lambda e: e, latest=latest)
    assert workers.alive == {ran.fastest.name}
    return ran, workers
