"""The `example` verb: put a machine's results in place of example/, and into README.md."""

from __future__ import annotations

import argparse

from cputrain import paths
from cputrain.report import example_files
from cputrain.report.example import FOLDER
from cputrain.wording import counted, one_line


def main(args: argparse.Namespace) -> int:
    """Make it, and say what it has."""
    made = example_files.make(args.source or paths.ROOT, paths.PROJECT, args.machine)
    for problem in made.problems:
        print(f"problem: {one_line(problem)}")
    size = f"{made.size / 1e6:.2f} MB"
    print(f"{FOLDER}/: {one_line(made.machine)}, {counted(made.records, 'record')}, {size}")
    print("README.md: picture and table are of this machine now")
    return 0
