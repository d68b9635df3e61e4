"""Flags of `compare --stack` and `compare --git`. Standard library only."""

from __future__ import annotations

import argparse

from cputrain.commands import arguments, flags

BUDGET_MIN = 20.0


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Let a parser take the flags."""
    parser.add_argument(
        "--stack",
        metavar="'NAME==VERSION ...'",
        action="append",
        default=[],
        help="a set of packages: other versions of what requirements.txt pins, or here for the "
        "file as it is; twice or more, the first is the reference",
    )
    parser.add_argument(
        "--git",
        nargs=2,
        metavar=("A", "B"),
        help="two commits of this project, each with its own code; here is the working tree",
    )
    parser.add_argument(
        "--bench",
        metavar="REGEX",
        type=arguments.regex,
        action="append",
        help="cells to compare, as of run (default: a few that releases have changed)",
    )
    parser.add_argument(
        "--budget",
        type=arguments.positive,
        metavar="MINUTES",
        default=BUDGET_MIN,
        help=f"for measuring, environments aside (default {BUDGET_MIN:g})",
    )
    parser.add_argument(
        "--order",
        type=arguments.seed,
        metavar="N",
        help="seed of the orders (default: one drawn and recorded)",
    )
    flags.offline(parser)
