"""Rounds on a simulated machine, of changes that races say nothing of."""

import math
import random

from made_races import DEFAULT, factors_of, race, raced
from simulated_workers import Simulated

from cputrain.sweep.tuning.rounds import Rounds

TRUE = {
    ("wait_policy", "active"): 0.985,
    ("huge_pages", "madvise"): 0.98,
    ("pinning", "close"): 1.01,
    ("optimizer_kernel", "foreach"): 1.0,
}
"""What a change really leaves of the time."""


def begun(seed, true=TRUE, host=Simulated, **machine):
    """Rounds that can be taken, their factors, and the workers."""

    def step_s(experiment):
        flat = experiment.flat()
        return 0.4 * math.prod(by for (name, value), by in true.items() if flat[name] == value)

    races = [race(name, raced({name: value}, 1.0, blocks=2)) for name, value in true]
    workers = host(step_s, seed=seed, noise=0.02, **machine)
    factors = factors_of(races)
    like = workers.start(DEFAULT, 1e9)
    workers.end(like)
    rounds = Rounds(workers, factors, lambda e: e, random.Random(seed), workers.now, like)
    return rounds, factors, workers
