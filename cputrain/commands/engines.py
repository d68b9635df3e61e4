"""The `engines` verb: every engine beside torch, in turns, on the same work."""

from __future__ import annotations

import argparse
import secrets

from cputrain.commands.sessions import without_models
from cputrain.sweep import driver
from cputrain.sweep.side_by_side.verb import SideBySide

ROUNDS = 3
MOST_SEEDS = 10**6


def main(args: argparse.Namespace) -> int:
    """Measure, write and print the table; 1 where some cell failed."""
    session = without_models(args.offline, mode="quick" if args.quick else "full")
    rounds = args.rounds or (1 if args.quick else ROUNDS)
    seed = secrets.randbelow(MOST_SEEDS) if args.seed is None else args.seed
    return driver.drive(SideBySide(rounds, seed, args.inductor), session)
