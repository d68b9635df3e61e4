"""What `tune` chose, measured again beside the three best of the whole grid.

`venv/bin/python -m tests.live.grid --preset wiki-24m --chosen FILE`, from the root of a clone that
is set up, FILE being the `settings.toml` that tune wrote, or the word defaults where it recommended
nothing. With `--count` it says how large the grid is and about how long the study takes, and
measures nothing.

The grid is, for every engine that `tune` may choose for the model here, the product of the values
of all other knobs of `cputrain/sweep/tuning/knobs.py`, as that table makes them for the model with
the engine in its plain way: one value of each knob, the plain one among them. A micro-batch has as
many tokens in a step. torch.compile's inductor is part of it with `--inductor`; precisions are
none, and `--keep` leaves fields out. What the machine, an engine or a rule refuses is no part; the
number of combinations that is printed still has those that rules forbid only for two values
together.

Thousands are too many to measure. They are screened:

1. The plain way of each engine beside tune's choice; then every single value beside the plain way
   of its engine, a fresh worker each, `--pairs` pairs of blocks. As in tune, micro-batches and loss
   chunks run in whole micro-batches, all else in smaller ones.
2. The two best values of each knob, by these medians, are combined: the product over the knobs of
   an engine, for all engines. Its expected time is the product of the single effects. Of those
   within 1.25x of the least, `--most` are measured beside tune's choice, in whole micro-batches:
   half are those expected to be fastest, the others drawn by `--order`, so that values that only
   help, or harm, together are met too. Beside these: tune's choice with the value of one knob
   changed or put back, of all values that are not expected to take 1.25x as long.
3. The eight fastest of these, by their medians, are measured once more, by fresh workers. The three
   fastest of them, by all their pairs, are put to the test against tune's choice by the
   code of tune's own test (`cputrain/sweep/tuning/fresh.py`): passes of fresh workers of both, in
   turns, until the interval is narrow enough or `--minutes` are up, for each of the three.

So the best of the grid is the best of what was measured of it. The best of three measured ratios is
a little too good by chance, which counts against tune's choice.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cputrain.commands import flags, model_flags
from cputrain.commands.sessions import without_models
from cputrain.engines import specs
from cputrain.errors import RunError, UsageError
from cputrain.experiment import Experiment, ExperimentError, same_work
from cputrain.experiment.described import FIELDS, described
from cputrain.machine.reading import MachineError
from cputrain.record import files
from cputrain.record.tuning import FILE, SCHEMA, TuningRecord
from cputrain.report import words
from cputrain.sweep import driver
from cputrain.sweep.tuning.planned import PlannedTuning
from tests.live.grid_study import GridStudy

DEFAULTS = "defaults"


def parser() -> argparse.ArgumentParser:
    """The flags."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument("--chosen", required=True, metavar="FILE.toml", help=f"or {DEFAULTS!r}")
    made.add_argument("--inductor", action="store_true", help="with torch.compile's inductor")
    made.add_argument("--keep", nargs="+", default=[], choices=FIELDS, metavar="FIELD")
    made.add_argument("--most", type=int, default=40, help="combinations that are measured")
    made.add_argument("--pairs", type=int, default=4, help="of each cell while screened")
    flags.minutes(made, "--minutes", 10.0, "for the test against each of the three best")
    flags.drawn_seed(made, "--order", "seed of what is drawn, and of the order of blocks")
    made.add_argument("--count", action="store_true", help="measure nothing")
    model_flags.add(made)
    flags.offline(made)
    return made


def chosen(text: str, default: Experiment) -> Experiment:
    """The settings that tune chose, of the same model.

    Args:
        text: path of its file of settings, or `DEFAULTS`.
        default: the model as described, settled.

    Raises:
        UsageError: no such settings, or those of another model.
    """
    if text == DEFAULTS:
        return default
    try:
        settings = described(file=Path(text)).flat()
        choice = specs.settle(default.but(**{name: settings[name] for name in FIELDS}))
    except ExperimentError as error:
        raise UsageError(f"--chosen {text}: {error}") from error
    if not same_work.is_unchanged(choice.to_json(), default.to_json()):
        raise UsageError(f"--chosen {text}: trains another model than the one described")
    return choice


def of_tuning(text: str) -> list[str]:
    """What tune said of its choice: the gain, and the minutes where its record lies beside it."""
    if text == DEFAULTS:
        return ["tune recommended nothing: its choice are the default settings"]
    lines = [line for line in Path(text).read_text().splitlines() if line.startswith("# ")]
    if (path := Path(text).with_name(FILE)).exists():
        record = files.read(path, TuningRecord, SCHEMA)
        lines.append(f"# tune took {words.duration(record.took_s)}; commit {record.commit}")
    return lines


def study(args: argparse.Namespace, now: Callable[[], float] = time.monotonic) -> GridStudy:
    """The study that flags ask for. Raises UsageError."""
    if args.most < 3 or args.pairs < 1:
        raise UsageError("--most has to be 3 or more, --pairs 1 or more")
    default = specs.settle(model_flags.experiment(args))
    planned = PlannedTuning(
        experiment=default,
        budget_s=60 * args.minutes,
        allowed=(),
        kept=tuple(args.keep),
        seed=random.SystemRandom().randrange(10**6) if args.order is None else args.order,
        again="",
    )
    choice = chosen(args.chosen, default)
    if choice.runtime.compile == "inductor" and not args.inductor:
        raise UsageError(f"--chosen {args.chosen}: it has inductor, so the grid needs --inductor")
    return GridStudy(planned, choice, args.inductor, args.most, args.pairs, now)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    args = parser().parse_args(argv)
    try:
        measured = study(args)
        for line in (*of_tuning(args.chosen), *measured.size()):
            measured.progress.say(line)
        return 0 if args.count else driver.drive(measured, without_models(args.offline))
    except (UsageError, MachineError, RunError) as error:
        print(f"grid: {error}", file=sys.stderr)
        return 1 if isinstance(error, RunError) else 2


if __name__ == "__main__":
    sys.exit(main())
