"""What a run of `train` or `finetune` is called: by its flags, or by what it trains."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from cputrain.errors import UsageError
from cputrain.experiment import Experiment
from cputrain.sweep.training.source import MODEL, SUFFIX

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def check_flags(args: argparse.Namespace) -> None:
    """Raise UsageError where --at or --out says nothing, or two names of one run differ."""
    if args.at is not None and args.resume is None:
        raise UsageError("--at: only with --resume")
    if args.resume and args.out:
        raise UsageError(
            f"--out {args.out}: not with --resume {args.resume}, which goes on in its own folder"
        )


def usual(args: argparse.Namespace, experiment: Experiment) -> str:
    """Of the preset, of the file, or of the model."""
    if args.preset:
        return str(args.preset)
    return Path(args.model).stem if args.model else experiment.identity


def of_source(text: str) -> str:
    """What a run is called that starts from a run, a folder or a file of this name."""
    path = Path(text)
    is_model = path.name == MODEL  # that says nothing: its folder does
    return path.absolute().parent.name if is_model else path.absolute().name.removesuffix(SUFFIX)


def check(name: str) -> None:
    """Raise UsageError for what is no name of a run."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a run: letters, digits and . _ + - are")
