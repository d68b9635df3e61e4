"""Flags that several verbs have, and kinds of flags. Standard library only."""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

from cputrain.commands import arguments

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What `add_subparsers` gives."""


def verb(
    verbs: Verbs, name: str, help: str, description: str, usage: str | None = None
) -> argparse.ArgumentParser:
    """Add a verb whose help begins with some lines about it, as they are; its parser.

    Args:
        verbs: of the whole parser.
        name: of the verb.
        help: its line in the list of verbs.
        description: those lines.
        usage: the first line of its help, where a list of all flags would be too long.
    """
    return verbs.add_parser(
        name,
        help=help,
        usage=usage,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def steps(parser: argparse._ActionsContainer, flag: str, help: str, **others: Any) -> None:
    """A flag for a number of steps, or of something else there is at least one of.

    Args:
        parser: takes it.
        flag: "--steps".
        help: its text.
        others: as `add_argument` has them; `metavar` is N where it is not among them.
    """
    parser.add_argument(flag, type=arguments.steps, help=help, **{"metavar": "N", **others})


def above_zero(parser: argparse.ArgumentParser, flag: str, metavar: str, help: str) -> None:
    """A flag for a number above 0, without a default."""
    parser.add_argument(flag, type=arguments.positive, metavar=metavar, help=help)


def minutes(parser: argparse.ArgumentParser, flag: str, default: float, what: str) -> None:
    """A flag for a time in minutes; its help says what it is for and the default."""
    parser.add_argument(
        flag,
        type=arguments.positive,
        metavar="MINUTES",
        default=default,
        help=f"{what} (default {default:g})",
    )


def drawn_seed(parser: argparse.ArgumentParser, flag: str, what: str) -> None:
    """A flag for the seed of an order; where it is left out, the verb draws one."""
    parser.add_argument(
        flag, type=arguments.seed, metavar="N", help=f"{what} (default: one drawn and recorded)"
    )


def several(parser: argparse.ArgumentParser, flag: str, metavar: str, help: str) -> None:
    """A flag that may be repeated: its texts, an empty list where it is left out."""
    parser.add_argument(flag, metavar=metavar, action="append", default=[], help=help)


def bench(parser: argparse.ArgumentParser, help: str) -> None:
    """--bench, which may be repeated; None where it is left out."""
    parser.add_argument(
        "--bench", metavar="REGEX", type=arguments.regex, action="append", help=help
    )


def offline(parser: argparse.ArgumentParser) -> None:
    """--offline."""
    parser.add_argument(
        "--offline", action="store_true", help="never touch the network, neither hub nor index"
    )


def local_assets(parser: argparse.ArgumentParser) -> None:
    """--offline, of pages."""
    parser.add_argument(
        "--offline",
        action="store_true",
        help="pages that need no network: their scripts come from npm, once, and are kept",
    )


def budget(parser: argparse.ArgumentParser, default: str) -> None:
    """--budget of passes; `default` is a text."""
    what = f"time for all passes (default {default}); the next run goes on from there"
    above_zero(parser, "--budget", "MINUTES", what)


def fresh(parser: argparse.ArgumentParser, earlier: str) -> None:
    """--fresh, instead of going on with what `earlier` says."""
    parser.add_argument(
        "--fresh", action="store_true", help=f"start over instead of going on with {earlier}"
    )
