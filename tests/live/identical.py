"""A/A: identical cells, each a fresh worker beside a fresh reference, judged as others are.

`python -m tests.live.identical torch 48 4`: engine, cells, pairs of each. A cell is judged with the
noise that all other cells tell. Three cells in a row are also taken as one of three passes.
"""

import argparse
import math
import statistics

from settled import settled

from cputrain.analysis.paired import noise
from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.verdict import verdict
from tests.live.passes import bench


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("cells", type=int)
    parser.add_argument("pairs", type=int)
    args = parser.parse_args()
    experiment = settled(engine=args.engine)
    with bench() as workers:
        measured = [workers.measure(experiment, experiment, args.pairs) for _ in range(args.cells)]
    passes = [cell.kept for cell in measured if cell.kept is not None]
    medians = [pass_.median for pass_ in passes]
    print(f"{args.engine}: {len(passes)} cells of {args.pairs} pairs of {measured[0].steps} steps")
    print(f"  dropped pairs: {sum(cell.dropped for cell in measured)}")
    error = statistics.stdev(medians) / math.sqrt(len(medians))
    print(f"  mean of the medians: {statistics.mean(medians):+.2%} +- {error:.2%}")
    print(f"  standard deviation of the medians: {statistics.stdev(medians):.2%}")
    within = [statistics.pstdev(pass_.log_ratios) for pass_ in passes]
    print(f"  of the pairs of a cell, median: {statistics.median(within):.2%}")
    steps = [cell.step_s for cell in measured]
    print(f"  step: {min(steps) * 1e3:.1f} to {max(steps) * 1e3:.1f} ms")
    judge(passes, 1)
    judge(passes, 3)


def judge(passes, together: int) -> None:
    """Print the verdicts on cells of so many passes each."""
    groups = [passes[i : i + together] for i in range(0, len(passes) - together + 1, together)]
    words, halves = [], []
    for number, group in enumerate(groups):
        others = [pass_ for i, cell in enumerate(groups) for pass_ in cell if i != number]
        learned = noise.learn(others)
        made = effect(group, learned)
        words.append(verdict(made, learned).word)
        halves.append(made.half_width)
    counts = {word: words.count(word) for word in ("same", "not told", "faster", "slower")}
    half = statistics.median(halves)
    print(
        f"  {together} passes: half of the 99 % intervals within {math.expm1(half):.2%}; {counts}"
    )


if __name__ == "__main__":
    main()
