"""Flags that several verbs have. Standard library only."""

from __future__ import annotations

import argparse

from cputrain.commands import arguments


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
    """--budget; `default` is a text."""
    parser.add_argument(
        "--budget",
        type=arguments.positive,
        metavar="MINUTES",
        help=f"time for all passes (default {default}); the next run goes on from there",
    )


def fresh(parser: argparse.ArgumentParser, earlier: str) -> None:
    """--fresh, instead of going on with what `earlier` says."""
    parser.add_argument(
        "--fresh", action="store_true", help=f"start over instead of going on with {earlier}"
    )
