"""The verbs that machines are given away, taken in and compared with. Standard library only."""

from __future__ import annotations

import argparse
from pathlib import Path

from cputrain.commands import compare_releases_flags, flags


def add(verbs: flags.Verbs) -> None:
    """Add them to a parser's verbs."""
    pack = verbs.add_parser("pack", help="one small file of a machine's results, to give away")
    pack.add_argument(
        "--machine", metavar="NAME", help="whose (default: the only one with records, else this)"
    )
    pack.add_argument(
        "--to",
        metavar="FILE|FOLDER",
        type=Path,
        help="default: NAME.cputrain.jsonl.gz in this folder",
    )
    merge = verbs.add_parser("merge", help="take in what pack has made, or another clone's results")
    merge.add_argument(
        "sources", metavar="FILE|FOLDER", type=Path, nargs="+", help="checked before it is taken"
    )
    _add_compare(verbs.add_parser("compare", help="one machine, release or commit beside others"))


def _add_compare(compare: argparse.ArgumentParser) -> None:
    compare.add_argument(
        "machines",
        metavar="NAME",
        nargs="*",
        help="a machine with results here, or example: the one that comes with the project; one "
        "alone is compared with that",
    )
    compare_releases_flags.add(compare)
