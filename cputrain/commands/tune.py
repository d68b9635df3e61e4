"""The `tune` verb: the fastest settings for one's own model, confirmed."""

from __future__ import annotations

import argparse
import random
import shlex

from cputrain.commands import model_flags
from cputrain.commands.sessions import without_models
from cputrain.commands.tune_flags import BUDGET
from cputrain.errors import UsageError
from cputrain.experiment import PART_OF
from cputrain.experiment.described import FIELDS, meant
from cputrain.sweep import driver
from cputrain.sweep.tuning import knobs
from cputrain.sweep.tuning.planned import PlannedTuning
from cputrain.sweep.tuning.verb import Tune

PARTS = ("training", "runtime", "system")
"""Parts with fields that a tuning changes."""


def main(args: argparse.Namespace) -> int:
    """Race, test and print.

    Raises:
        UsageError: a model that cannot be, a field that is none, a budget that is too short.
    """
    experiment = model_flags.experiment(args)
    if experiment.training.objective == "forward":
        raise UsageError("objective = 'forward' trains nothing: there is nothing to tune")
    tuning = PlannedTuning(
        experiment=experiment,
        budget_s=60 * args.budget,
        allowed=_allowed(args.allow),
        kept=_kept(args.keep),
        seed=random.SystemRandom().randrange(10**6) if args.order is None else args.order,
        again=_again(args),
    )
    return driver.drive(Tune(tuning), without_models(args.offline))


def _allowed(texts: list[str]) -> tuple[str, ...]:
    """The precisions of `--allow precision=mixed,bf16`. Raises UsageError for anything else."""
    values: list[str] = []
    for text in texts:
        name, _, listed = text.partition("=")
        given = listed.split(",")
        if name != "precision" or not set(given) <= set(knobs.PROFITS):
            which = " or ".join(knobs.PROFITS)
            raise UsageError(f"--allow {text}: only precision can be allowed, to be {which}")
        values += given
    return tuple(dict.fromkeys(values))


def _kept(texts: list[str]) -> tuple[str, ...]:
    names = [name.replace("-", "_") for text in texts for name in text.split(",")]
    for name in names:
        if PART_OF.get(name) not in PARTS or name not in FIELDS:
            known = [field for field in FIELDS if PART_OF[field] in PARTS]
            raise UsageError(f"--keep {name}: no such field; {meant(name, known)}")
    return tuple(dict.fromkeys(names))


def _again(args: argparse.Namespace) -> str:
    """The words that describe the model and its tuning once more."""
    words = ["--preset", args.preset] if args.preset else []
    words += ["--model", str(args.model)] if args.model else []
    for name in FIELDS:
        value = getattr(args, name)
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            words += [f"--{flag}", value]
    for flag, texts in (("--keep", args.keep), ("--allow", args.allow)):
        words += [word for text in texts for word in (flag, text)]
    if args.budget != BUDGET:
        words += ["--budget", f"{args.budget:g}"]
    return shlex.join(words)
