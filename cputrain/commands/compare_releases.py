"""`compare --stack` and `compare --git`: releases, or commits, measured side by side."""

from __future__ import annotations

import argparse
import random

from cputrain.commands.sessions import without_models
from cputrain.errors import UsageError
from cputrain.sweep import driver
from cputrain.sweep.releases.commits import Commits
from cputrain.sweep.releases.packages import Packages
from cputrain.sweep.releases.verb import Releases


def is_requested(args: argparse.Namespace) -> bool:
    """Whether `compare` was called with --stack or --git."""
    return bool(args.stack or args.git)


def main(args: argparse.Namespace) -> int:
    """Measure, write and print; 1 where some pair failed.

    Raises:
        UsageError: these sides cannot be compared.
        RunError: an environment cannot be built.
    """
    if args.stack and args.git:
        raise UsageError("--stack and --git do not go together: compare one thing at a time")
    source = Commits(args.git) if args.git else Packages(args.stack)
    seed = random.SystemRandom().randrange(10**6) if args.order is None else args.order
    releases = Releases(source, args.bench, 60 * args.budget, seed)
    return driver.drive(releases, without_models(args.offline))
