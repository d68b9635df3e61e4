"""A/B: a cell whose every step has a busy loop of some percent of a step at its end.

`python -m tests.live.loop 5 40 4 1 native`: percent, cells, pairs of a pass, passes of a cell,
engine (torch where left out). Each worker sets the rounds of its loop while it warms up, by the
time of its own steps. The noise is that of as many A/A cells, measured in between.
"""

import argparse
import statistics

from settled import settled

from cputrain import paths
from cputrain.analysis.paired import noise
from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.verdict import verdict
from cputrain.run import forking, fresh, placement
from tests.live.passes import bench

SLOWED = 1
"""The seed of experiments that have the loop."""

LOOP = """
import os, statistics, time
from cputrain.worker import stepper

SHARE, FIRST, LAST = float(os.environ["STUDY_SHARE"]), 2, 8
init, step = stepper.Stepper.__init__, stepper.Stepper._step

def spin(rounds):
    for _ in range(rounds):
        pass

def begin(self, experiment, *others):
    init(self, experiment, *others)
    self.slowed = experiment.training.seed == 1
    self.in_step, self.rounds = [], 20000

def slowed(self, batches):
    start = time.perf_counter()
    step(self, batches)
    middle = time.perf_counter()
    done = len(self.losses)
    if not self.slowed or done <= FIRST:
        return
    if done > LAST:
        spin(self.rounds)
        return
    spin(self.rounds)  # as many as later: the first ones of a spin take longer
    self.in_step.append(self.rounds * (middle - start) / (time.perf_counter() - middle))
    self.rounds = round(SHARE * statistics.median(self.in_step[-3:]))

stepper.Stepper.__init__, stepper.Stepper._step = begin, slowed
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("percent", type=float)
    for name in ("cells", "pairs", "passes"):
        parser.add_argument(name, type=int)
    parser.add_argument("engine", nargs="?", default="torch")
    args = parser.parse_args()
    honest = placement.environment
    base = settled(engine=args.engine)
    slowed = base.but(seed=SLOWED)
    with bench() as workers:
        folder = paths.ROOT / "loop"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(LOOP)
        also = {
            "PYTHONPATH": f"{folder}:{paths.PROJECT}",
            "STUDY_SHARE": str(args.percent / 100),
        }
        forking.environment = fresh.environment = lambda *of: honest(*of) | also
        cells, identical = [], []
        for _ in range(args.cells):
            cells.append(
                [workers.measure(slowed, base, args.pairs).kept for _ in range(args.passes)]
            )
            identical.append(workers.measure(base, base, args.pairs).kept)
        forking.environment = fresh.environment = honest
    identical = [pass_ for pass_ in identical if pass_ is not None]
    cells = [kept for cell in cells if (kept := [p for p in cell if p is not None])]
    learned = noise.learn(identical, cells)
    effects = [effect(cell, learned) for cell in cells]
    words = [verdict(made, learned).word for made in effects]
    counts = {word: words.count(word) for word in ("slower", "same", "not told", "faster")}
    values = [made.value for made in effects]
    held = sum(made.low <= 1 + args.percent / 100 <= made.high for made in effects)
    print(f"{args.engine}, {args.percent:g} %, {len(cells)} cells of {args.passes} x {args.pairs}")
    print(f"  pairs: {counts}")
    print(f"  median effect {statistics.median(values):.3f}x; {held} intervals hold the truth")
    print(f"  noise: block {learned.block:.1%}, worker {learned.worker:.1%}")


if __name__ == "__main__":
    main()
