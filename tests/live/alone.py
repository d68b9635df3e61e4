"""A cell's blocks with a reference beside it, against the same worker's blocks alone.

`python -m tests.live.alone 20 4`: fresh workers, comparisons of each. Alone no other worker lives
and the worker has block after block; beside, a reference lives and has every second block. Either
way there are `TURNS` blocks, and their median counts; the first block beside, right after the
reference's start, is reported by itself. ABBA, as in pairs.
"""

import argparse
import math
import statistics

from settled import settled

from tests.live.forked import report
from tests.live.passes import bench

TURNS = 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workers", type=int)
    parser.add_argument("comparisons", type=int)
    args = parser.parse_args()
    base = settled()
    ratios: dict[str, list[float]] = {"beside": [], "the first block beside": []}
    with bench() as workers:
        for _ in range(args.workers):
            cell = workers.start(base)
            logs: dict[str, list[float]] = {name: [] for name in ratios}
            for number in range(args.comparisons):
                if number % 2:
                    alone, beside = _alone(workers, cell), _beside(workers, cell, base)
                else:
                    beside, alone = _beside(workers, cell, base), _alone(workers, cell)
                logs["beside"].append(math.log(_median(beside) / _median(alone)))
                logs["the first block beside"].append(math.log(beside[0] / _median(alone)))
            workers.end(cell)
            for name, values in logs.items():
                ratios[name].append(statistics.median(values))
    for name, values in ratios.items():
        report(f"{name} a reference over alone", values)


def _median(blocks: list[float]) -> float:
    """Of the blocks after the first."""
    return statistics.median(blocks[1:])


def _alone(workers, cell) -> list[float]:
    return [workers.block(cell).median_s for _ in range(TURNS + 1)]


def _beside(workers, cell, experiment) -> list[float]:
    reference = workers.start(experiment)
    seconds = []
    for _ in range(TURNS + 1):
        workers.block(reference)
        seconds.append(workers.block(cell).median_s)
    workers.end(reference)
    return seconds


if __name__ == "__main__":
    main()
