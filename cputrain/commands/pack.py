"""The `pack` verb: one small file of a machine's results."""

from __future__ import annotations

import argparse

from cputrain import paths
from cputrain.results.exchange.pack import pack
from cputrain.wording import counted, one_line


def main(args: argparse.Namespace) -> int:
    """Pack, and say what is in it; 1 where a record was left out."""
    made = pack(paths.ROOT, args.machine, args.to)
    for line in made.left_out:
        print(f"left out: {one_line(line)}")
    size = f"{made.size / 1e6:.2f} MB"
    print(f"{one_line(made.path)}: {made.machine}, {counted(made.records, 'record')}, {size}")
    print("no models, paths, host or user names; who has it: python3 bench.py merge FILE")
    return 1 if made.left_out else 0
