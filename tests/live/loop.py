"""A/B: a cell whose every step has a busy loop of some percent of a step at its end.

`python -m tests.live.loop 5 40 4 1 native`: percent, cells, pairs of a pass, passes of a cell,
engine (torch where left out). Each worker sets the rounds of its loop while it warms up, by the
time of its own steps. The noise is that of A/A cells, one before each first pass.

With `--until-closed` as in a sweep: first passes as the sweep has them, then further ones of those
cells that are open, so many passes of a cell at most.
"""

import argparse
import statistics
from collections.abc import Sequence

from settled import settled

from cputrain import paths
from cputrain.analysis.paired import noise
from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.planning import is_closed
from cputrain.analysis.paired.verdict import verdict
from cputrain.experiment import Experiment
from cputrain.run import forking, fresh, placement
from tests.live.passes import Bench, Measured, bench

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
    parser.add_argument("--until-closed", action="store_true")
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
        first = base.budget.samples if args.until_closed else args.pairs
        pairs = [first] + [args.pairs] * (args.passes - 1)
        cells, identical = measure(workers, slowed, base, args.cells, pairs, args.until_closed)
        forking.environment = fresh.environment = honest
    cells = [cell for cell in cells if cell]
    learned = noise.learn(identical, cells)
    effects = [effect(cell, learned) for cell in cells]
    words = [verdict(made, learned).word for made in effects]
    counts = {word: words.count(word) for word in ("slower", "same", "not told", "faster")}
    values = [made.value for made in effects]
    held = sum(made.low <= 1 + args.percent / 100 <= made.high for made in effects)
    print(f"{args.engine}, {args.percent:g} %, {len(cells)} cells; pairs of passes: {pairs}")
    print(f"  pairs: {counts}")
    print(f"  median effect {statistics.median(values):.3f}x; {held} intervals hold the truth")
    print(f"  noise: block {learned.block:.1%}, worker {learned.worker:.1%}")
    widths = [made.half_width for made in effects]
    print(f"  half of the 99 % intervals within {statistics.median(widths):.1%}")
    print(f"  passes: {sorted(len(cell) for cell in cells)}")


def measure(
    workers: Bench,
    slowed: Experiment,
    base: Experiment,
    count: int,
    pairs: Sequence[int],
    until_closed: bool,
) -> tuple[list[list[Pass]], list[Pass]]:
    """The cells' passes, and those of identical cells.

    Args:
        count: cells.
        pairs: of each pass of a cell.
        until_closed: whether a cell that is closed gets no further pass.
    """
    cells: list[list[Pass]] = [[] for _ in range(count)]
    identical: list[Pass] = []
    for number, of_pass in enumerate(pairs):
        learned = noise.learn(identical, [cell for cell in cells if cell]) if number else None
        for cell in cells:
            if until_closed and cell and is_closed(effect(cell, learned), learned):
                continue
            if number == 0:
                add(identical, workers.measure(base, base, of_pass))
            add(cell, workers.measure(slowed, base, of_pass))
    return cells, identical


def add(passes: list[Pass], measured: Measured) -> None:
    """Add what counts of a pass, if anything does."""
    if measured.kept is not None:
        passes.append(measured.kept)


if __name__ == "__main__":
    main()
