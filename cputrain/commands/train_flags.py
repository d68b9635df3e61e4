"""Flags of the verb `train`. Standard library only."""

from __future__ import annotations

import argparse
from pathlib import Path

from cputrain.commands import arguments, flags, model_flags, prompt_flags

USAGE = "bench.py train --steps N [--preset NAME] [--model FILE.toml] [--FIELD VALUE ...] [...]"
DESCRIPTION = """\
Train a model for real: learning-rate warm-up and cosine decay, validation on documents that are
never trained on, checkpoints, progress. Ctrl-C saves and ends; --resume goes on, with the losses
that a run which was never stopped would have had. All of it lies in output/<machine>/train/NAME/.
"""


def add(verbs: flags.Verbs) -> None:
    """Let a parser take the verb."""
    what = "the run itself: train, save, go on after a stop"
    train = flags.verb(verbs, "train", what, DESCRIPTION, USAGE)
    add_run(train)
    flags.steps(
        train,
        "--nproc",
        "processes that share each step's batch (torch); going on, also another number; short "
        "for --processes",
    )
    model_flags.add(train)
    flags.offline(train)


def add_run(train: argparse.ArgumentParser) -> None:
    """Let a parser take what every run of many steps has."""
    flags.steps(train, "--steps", "of the whole run (needed to begin)")
    train.add_argument("--out", metavar="NAME", help="of the run (default: that of what it trains)")
    train.add_argument(
        "--settings", metavar="FILE.toml", type=Path, help="what tune recommended, after --model"
    )
    train.add_argument(
        "--resume",
        metavar="NAME",
        nargs="?",
        const="",
        help="go on with this run, or with the same command's",
    )
    at = "with --resume: from this checkpoint (default: the latest)"
    flags.steps(train, "--at", at, metavar="STEP")
    flags.above_zero(train, "--lr", "RATE", "largest learning rate; short for --learning-rate")
    warm_up = "steps of linear growth before the decay to a tenth; short for --lr-warmup-steps"
    flags.steps(train, "--warmup-steps", warm_up)
    flags.above_zero(train, "--clip", "NORM", "scale longer gradients down to it")
    every = "steps between two evaluations (default: a twentieth of the run)"
    flags.steps(train, "--validate-every", every)
    flags.steps(train, "--save-every", "steps between two checkpoints (default: five minutes)")
    flags.steps(train, "--keep-every", "also keep the checkpoints of all multiples of N")
    train.add_argument(
        "--patience",
        type=arguments.steps_or_none,
        metavar="N",
        help="end after N evaluations without a lower validation loss (default: 0, off)",
    )
    train.add_argument(
        "--tensorboard",
        action=argparse.BooleanOptionalAction,
        help="also write event files for TensorBoard",
    )
    train.add_argument(
        "--data",
        metavar="FILE",
        nargs="+",
        action="extend",
        type=Path,
        default=[],
        help="train on these instead of the corpus: text, JSON lines or Parquet with a field text",
    )
    prompt_flags.add(train)


def add_export(verbs: flags.Verbs) -> None:
    """Let a parser take the verb `export-model`."""
    export = verbs.add_parser(
        "export-model", help="a trained run's model for other programs: transformers' layouts"
    )
    export.add_argument(
        "name", metavar="NAME", help="of the run, its folder, or a model.safetensors of one"
    )
    export.add_argument("--to", choices=["hf"], required=True, help="hf: Hugging Face transformers")
    export.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        help="for the model (default: hf/ in the run's folder)",
    )
