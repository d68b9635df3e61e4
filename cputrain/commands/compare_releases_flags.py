"""Flags of `compare --stack` and `compare --git`. Standard library only."""

from __future__ import annotations

import argparse

from cputrain.commands import flags


def add(parser: argparse.ArgumentParser) -> None:
    """Let a parser take the flags."""
    flags.several(
        parser,
        "--stack",
        "'NAME==VERSION ...'",
        "a set of packages: other versions of what requirements.txt pins, or here for the "
        "file as it is; twice or more, the first is the reference",
    )
    parser.add_argument(
        "--git",
        nargs=2,
        metavar=("A", "B"),
        help="two commits of this project, each with its own code; here is the working tree",
    )
    flags.bench(parser, "cells to compare, as of run (default: a few that releases have changed)")
    flags.minutes(parser, "--budget", 20.0, "for measuring, environments aside")
    flags.drawn_seed(parser, "--order", "seed of the orders")
    flags.offline(parser)
