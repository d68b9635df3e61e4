"""Forked workers beside fresh interpreters: whether their steps take the same time.

`python -m tests.live.forked 20 8`: workers a side, pairs of each. Each forked one has a parent of
its own; which of the two starts first, as the reference, changes from one to the next. Same within
2 % by two one-sided tests at 5 %, with Student's t over the workers.
"""

import argparse
import math
import statistics

from scipy import stats
from settled import settled

from cputrain.worker.blocks import Side
from tests.live.passes import bench

WITHIN = math.log(1.02)
SIDES: tuple[tuple[Side, Side, int], ...] = (("cell", "reference", 1), ("reference", "cell", -1))
"""The fresh interpreter, the forked worker, and the sign of the pairs' log ratios."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workers", type=int)
    parser.add_argument("pairs", type=int)
    args = parser.parse_args()
    base = settled()
    ratios = []
    for number in range(args.workers):
        fresh, forked, sign = SIDES[number % 2]
        with bench() as workers:  # and with it a parent, whose memory layout forks share
            measured = workers.measure(base, base, args.pairs, fresh=fresh)
        if measured.forked != {forked}:
            raise RuntimeError(f"{forked} alone was to be forked, and not {measured.forked}")
        if (kept := measured.kept) is not None:
            ratios.append(sign * kept.median)
    report("fresh interpreter over forked", ratios)


def report(what: str, ratios: list[float]) -> None:
    """Print the mean of log ratios, and whether they are the same within 2 %."""
    mean, count = statistics.mean(ratios), len(ratios)
    error = statistics.stdev(ratios) / math.sqrt(count)
    half = stats.t.ppf(0.95, count - 1) * error
    same = abs(mean) + half < WITHIN
    low, high = math.exp(mean - half), math.exp(mean + half)
    print(f"{what}: {math.exp(mean):.4f} [{low:.4f}, {high:.4f}] (90 %, {count} workers)")
    print(f"  {'same within 2 %' if same else 'not shown to be the same within 2 %'}")


if __name__ == "__main__":
    main()
