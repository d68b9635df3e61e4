"""The `fleet` verb: one sweep on each node, and their results here."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from cputrain.sweep.fleet import verb


def main(args: argparse.Namespace) -> int:
    """Measure everywhere; 1 where a node did not."""
    command = verb.sweep_command(list(_words(args)))
    return verb.run(verb.Fleet(args.nodes, args.partition, args.time, command))


def _words(args: argparse.Namespace) -> Iterator[str]:
    """What a node's bench.py is told."""
    if args.quick:
        yield "--quick"
    if args.offline:
        yield "--offline"
    for regex in args.bench:
        yield f"--bench={regex}"
    if args.budget:
        yield f"--budget={args.budget:g}"
