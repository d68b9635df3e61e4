"""A/A of tune's test: the same settings on both sides, judged as a winner's are.

`venv/bin/python -m tests.live.identical_tests --preset wiki-24m --tests 3 --minutes 6.5`, from the
root of a clone that is set up. Each test has so many minutes, takes passes of fresh workers as
tune's does, and takes the noise from the records of the machine where they tell it. At the end:
how many tests were told to differ, how many 99 % intervals hold 1, and how far the passes lie
apart.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Sequence

from cputrain import paths
from cputrain.analysis.tuning import known
from cputrain.analysis.tuning.gain import Gain
from cputrain.commands import flags, model_flags
from cputrain.commands.sessions import without_models
from cputrain.errors import RunError, UsageError
from cputrain.machine.reading import MachineError
from cputrain.record.tuning import FreshPass
from cputrain.report import tuned, words
from cputrain.results import rows
from cputrain.run import suite
from cputrain.sweep import driver, plan
from cputrain.sweep.tuning import fresh, sides
from cputrain.sweep.tuning.planned import PlannedTuning
from cputrain.sweep.tuning.verb import Tune
from cputrain.sweep.tuning.workers import Workers
from cputrain.wording import counted


class IdenticalTests(Tune):
    """Tests of the same settings (see `driver.Measurement`).

    Args:
        tuning: the model and the seed; its budget is that of each test.
        count: of tests.
    """

    def __init__(self, tuning: PlannedTuning, count: int) -> None:
        super().__init__(tuning)
        self._count = count
        self._gains: list[Gain | None] = []
        self._passes: list[FreshPass] = []

    def choose(self) -> list[plan.Planned]:
        """The one cell there is, for the set-up (see `driver.Measurement`)."""
        cell = plan.PlannedCell((0,), self.default, None)
        return [plan.Planned("identical", "identical", suite.Suite, (cell,))]

    def tune(self, workers: Workers) -> None:
        """Take the tests, one after the other."""
        tested = sides.sides(self.default, self.default)
        machine, _ = rows.read(paths.ROOT, self.session.machine)
        earlier = {name: known.identical_passes(machine, name) for name in tested.engines}
        for name, passes in earlier.items():
            self.progress.say(
                f"{counted(len(passes), 'A/A pass', 'A/A passes')} of {name} on record"
            )
        for number in range(self._count):
            seed = self.tuning.seed + number
            test = fresh.Test(workers, tested, earlier, seed, self.now, self._passes.append)
            self._gains.append(test.run(self.now() + self.tuning.budget_s))
            for order, taken in enumerate(test.passes, 1):
                twins = f"; {counted(len(taken.twins), 'twin')}" if taken.twins else ""
                self.progress.say(f"{tuned.fresh_pass(taken, order)}{twins}; {taken.wall_s:.0f} s")
            self.progress.say(f"test {number + 1}: {said(self._gains[-1])}")

    def end(self) -> None:
        """Print what came of all."""
        gains = [gain for gain in self._gains if gain is not None]
        differ = sum(gain.verdict.word in ("faster", "slower") for gain in gains)
        ends = [(each.effect.low, each.effect.high) for each in gains]
        held = sum(low <= 1 <= high for low, high in ends if low is not None and high is not None)
        medians = [
            statistics.median(math.log(b.step_s[0] / b.step_s[1]) for b in kept)
            for taken in self._passes
            if (kept := [b for b in taken.pairs if not b.disturbed])
        ]
        self.progress.say(
            f"{counted(len(gains), 'test')}: {differ} told to differ, "
            f"{counted(held, 'interval holds 1', 'intervals hold 1')}"
        )
        if len(medians) > 1:
            mean, apart = statistics.mean(medians), statistics.stdev(medians)
            self.progress.say(
                f"{counted(len(medians), 'pass', 'passes')}: medians {mean:+.2%} "
                f"+- {apart / math.sqrt(len(medians)):.2%}, standard deviation {apart:.2%}"
            )

    def stopped(self) -> str:
        """One line: what is kept of a study that was stopped."""
        return f"{counted(len(self._gains), 'test')} taken; nothing was written"


def said(gain: Gain | None) -> str:
    """What a test says, in one line."""
    if gain is None:
        return "no pair that counts"
    effect = gain.effect
    told = words.ratio(effect.value, effect.low, effect.high)
    worker = "" if gain.noise is None else f", workers {gain.noise.worker:.1%} apart"
    return f"{told}, {counted(effect.pairs, 'pair')}{worker}: {gain.verdict.word}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tests", type=int, default=3)
    flags.minutes(parser, "--minutes", 6.0, "for each test")
    model_flags.add(parser)
    flags.offline(parser)
    args = parser.parse_args(argv)
    try:
        planned = PlannedTuning(
            experiment=model_flags.experiment(args),
            budget_s=60 * args.minutes,
            allowed=(),
            kept=(),
            seed=random.SystemRandom().randrange(10**6),
            again="",
        )
        return driver.drive(IdenticalTests(planned, args.tests), without_models(args.offline))
    except (UsageError, MachineError, RunError) as error:
        print(f"identical_tests: {error}", file=sys.stderr)
        return 1 if isinstance(error, RunError) else 2


if __name__ == "__main__":
    sys.exit(main())
