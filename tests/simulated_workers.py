"""Workers of a tuning that train nothing: step times as a host that drifts would give them."""

import itertools
import math
import random

from cputrain.analysis.paired.model import Pass
from cputrain.record.sample import Sample
from cputrain.run.failed import CellFailed
from cputrain.sweep.tuning.workers import Running

WORKER, PAIR, DRIFT = 0.008, 0.03, 0.15
"""Standard deviations of logarithms: of a worker, of a block, of the host within a minute."""


class Simulated:
    """As `Leased`, with a clock of its own.

    Args:
        step_s: the true seconds of a step of an experiment, all of its micro-batches.
        seed: of what the machine does meanwhile.
        noise: see `PAIR`.
        start_s: seconds until a worker has imported its engine.
        is_steady: what workers say of their warm-up.
        page_s: seconds of a page of fresh memory.
    """

    def __init__(self, step_s, seed=0, noise=PAIR, start_s=2.0, is_steady=True, page_s=0.0):
        self.is_steady = is_steady
        self.step_s, self.noise, self.start_s = step_s, noise, start_s
        self.page_s = lambda is_huge: page_s / 10 if is_huge else page_s
        self.chance, self.seconds = random.Random(seed), 0.0
        self.waves = [(self.chance.uniform(5, 60), self.chance.uniform(0, 6)) for _ in range(3)]
        self.names, self.alive, self.true_s, self.blocks = itertools.count(), set(), {}, []
        self.most_alive = 0

    def now(self):
        return self.seconds

    @staticmethod
    def _share(experiment):
        """Of a step's micro-batches, those that are run."""
        accum = experiment.training.grad_accum
        return (experiment.budget.micro_batches or accum) / accum

    def _took(self, true_s, experiment):
        """Seconds of a step now; the clock goes on by those of the micro-batches that are run."""
        drift = sum(math.sin(self.seconds / wide + at) for wide, at in self.waves) * DRIFT / 3
        # Student's t with 3 degrees of freedom, as bursts of other work give.
        spread = math.sqrt(sum(self.chance.gauss(0, 1) ** 2 for _ in range(3)) / 3)
        log = drift + self.noise * self.chance.gauss(0, 1) / spread
        took = true_s * math.exp(min(log, 2.0))
        self.seconds += took * self._share(experiment)
        return took

    def start(self, experiment, within_s):
        true_s = self.step_s(experiment)
        share = self._share(experiment)
        if self.start_s + 4 * true_s * share > within_s:
            self.seconds += within_s
            raise CellFailed("timed out", f"after {within_s:.0f} s, while in the first step")
        began = self.seconds
        self.seconds += self.start_s
        name = str(next(self.names))
        self.true_s[name] = true_s * math.exp(self.chance.gauss(0, WORKER))
        # A warm-up has the clock around what is run, and reckons nothing.
        warm = share * min(self._took(self.true_s[name], experiment) for _ in range(4))
        self.alive.add(name)
        self.most_alive = max(self.most_alive, len(self.alive))
        return Running(name, experiment, self.seconds - began, warm, self.is_steady, {})

    def block(self, worker):
        assert worker.name in self.alive
        self.blocks.append(worker)
        return Sample(step_s=[self._took(self.true_s[worker.name], worker.experiment)], loss=[1.0])

    def prove(self, worker):
        self.seconds += self.true_s[worker.name] * self._share(worker.experiment)
        self.alive.remove(worker.name)

    def end(self, worker):
        self.alive.remove(worker.name)


def identical(count, seed, worker=WORKER):
    """A/A passes as a sweep would have left them: three pairs, whose blocks scatter by 4 %."""
    chance = random.Random(seed)
    away = [chance.gauss(0, math.sqrt(2) * worker) for _ in range(count)]
    return [Pass(tuple(a + chance.gauss(0, 0.06) for _ in range(3))) for a in away]


def faster(e):
    """glibc's thresholds and foreach help; other engines are slower, and nothing else matters."""
    return (
        (0.8 if e.system.allocator == "glibc_thresholds" else 1.0)
        * (0.85 if e.runtime.optimizer_kernel == "foreach" else 1.0)
        * (1.3 if e.runtime.engine != "torch" else 1.0)
    )
