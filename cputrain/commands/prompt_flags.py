"""Flags of a text that a trained model continues. Standard library only."""

from __future__ import annotations

import argparse

from cputrain.commands import arguments, flags


def add(parser: argparse.ArgumentParser) -> None:
    """Let a parser take a text that the model continues at the end."""
    parser.add_argument(
        "--sample", metavar="TEXT", help="have the trained model continue it at the end"
    )
    flags.steps(parser, "--sample-tokens", "of the continuation, at most (default 100)")
    add_temperature(parser)


def add_temperature(parser: argparse.ArgumentParser) -> None:
    """--temperature."""
    parser.add_argument(
        "--temperature",
        type=arguments.temperature,
        metavar="T",
        help="of the continuation (default 0.8); 0 takes the likeliest token each time",
    )
