"""A cell's blocks with a reference beside it, against the same worker's blocks alone.

`python -m tests.live.alone 20 8`: fresh workers, comparisons of each. Alone no other worker lives;
beside, a reference has just had its block and is stopped. ABBA, as in pairs.
"""

import argparse
import math
import statistics

from settled import settled

from tests.live.forked import report
from tests.live.passes import bench


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workers", type=int)
    parser.add_argument("comparisons", type=int)
    args = parser.parse_args()
    base = settled()
    ratios = []
    with bench() as workers:
        for _ in range(args.workers):
            cell = workers.start(base)
            logs = []
            for number in range(args.comparisons):
                times = {}
                for beside in (number % 2 == 0, number % 2 == 1):
                    times[beside] = (
                        _beside(workers, cell, base) if beside else _alone(workers, cell)
                    )
                logs.append(math.log(times[True] / times[False]))
            workers.end(cell)
            ratios.append(statistics.median(logs))
    report("beside a reference over alone", ratios)


def _alone(workers, cell) -> float:
    workers.block(cell)
    return workers.block(cell).median_s


def _beside(workers, cell, experiment) -> float:
    reference = workers.start(experiment)
    workers.block(reference)
    seconds = workers.block(cell).median_s
    workers.end(reference)
    return seconds


if __name__ == "__main__":
    main()
