"""Tests of a winner on simulated machines: how often they confirm, and what their intervals hold.

`python -m tests.live.simulated_tests --step 7 --seconds 400 --ratio 0.87` prints, for the
production code of a test, how many of those of tuned settings that take so much of the default's
time confirm it, how many 99 % intervals hold the truth, and what they are like. The machine's
records have A/A passes (`--records`) of workers that are 0.8 % apart; those of the test are
`--workers` apart. The host drifts, and bursts (`simulated_workers`).
"""

import argparse
import math
import statistics

import simulated_workers
from settled import settled
from simulated_workers import Simulated, identical

from cputrain.sweep.tuning.fresh import Test
from cputrain.sweep.tuning.sides import Sides

DEFAULT = settled()
TUNED = DEFAULT.but(allocator="mimalloc")
IMPORTS_S = 3.0


def main() -> None:
    """Run tests, and print what came of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tests", type=int, default=60)
    parser.add_argument("--step", type=float, default=7.0, help="seconds of a default step")
    parser.add_argument("--seconds", type=float, default=400.0, help="that a test has")
    parser.add_argument("--ratio", type=float, default=1.0)
    parser.add_argument("--noise", type=float, default=0.04, help="scale of a block's")
    parser.add_argument("--records", type=int, default=8)
    parser.add_argument("--workers", type=float, default=simulated_workers.WORKER)
    args = parser.parse_args()
    confirmed = held = 0
    widths, pairs = [], []
    for seed in range(args.tests):
        earlier = {"torch": identical(args.records, seed)}
        simulated_workers.WORKER = args.workers
        workers = Simulated(
            lambda e: args.step * (args.ratio if e == TUNED else 1.0),
            seed,
            noise=args.noise,
            start_s=IMPORTS_S,
        )
        test = Test(workers, Sides(TUNED, DEFAULT), earlier, seed, workers.now, lambda taken: None)
        gain = test.run(args.seconds)
        if gain is None or gain.effect.low is None or gain.effect.high is None:
            continue
        confirmed += gain.is_confirmed
        held += gain.effect.low <= args.ratio <= gain.effect.high
        widths.append(math.log(gain.effect.high / gain.effect.low) / 2)
        pairs.append(gain.effect.pairs)
    print(
        f"{args.tests} tests, {len(widths)} with an interval: {confirmed} confirmed; {held} hold "
        f"the truth, half of them within {100 * statistics.median(widths):.1f} %; "
        f"{statistics.mean(pairs):.1f} pairs"
    )


if __name__ == "__main__":
    main()
