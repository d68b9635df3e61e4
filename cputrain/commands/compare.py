"""The `compare` verb: one machine beside others; releases and commits (`compare_releases`)."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable
from pathlib import Path

from cputrain import paths
from cputrain.analysis.machines import machine as machines
from cputrain.analysis.machines.machine import Machine
from cputrain.atomic import write_made
from cputrain.commands import compare_releases
from cputrain.errors import UsageError
from cputrain.report import compared, compared_plot, compared_table, example
from cputrain.report.compared import Comparison
from cputrain.report.comparisons import COMPARE, name_of
from cputrain.results import records
from cputrain.results.exchange import merged
from cputrain.wording import one_line


def main(args: argparse.Namespace) -> int:
    """Compare, write page, tables and picture, and say the most important.

    Raises:
        UsageError: an unknown machine, or nothing to compare.
    """
    if compare_releases.is_requested(args):
        if args.machines:
            raise UsageError("names of machines do not go together with --stack and --git")
        return compare_releases.main(args)
    if args.bench:
        raise UsageError("--bench goes with --stack or --git; machines are compared on all suites")
    merged.finish(paths.ROOT)
    first, *others = _machines(args.machines)
    comparisons, refusals = [], []
    for other in others:
        comparison = compared.compare(first, other)
        if comparison is None:
            refusals.append(
                f"{first.name} and {other.name} have no experiment in common of which both have a "
                "number: run the same suites on both"
            )
        else:
            comparisons.append(comparison)
    if not comparisons:
        raise UsageError(refusals[0])
    page = _write(comparisons)  # first: what is said may go to a pipe that ends
    for line in refusals:
        print(one_line(line))
    for comparison in comparisons:
        for line in compared.lines(comparison):
            print(one_line(line))
    print(f"all of it: {one_line(page)}")
    return 0


def _write(comparisons: list[Comparison]) -> Path:
    """Write everything; the page's path."""
    folder = paths.RESULT / COMPARE
    if folder.is_symlink():
        raise UsageError(f"{folder} is a symbolic link, which is not written to: remove it")
    names = [comparisons[0].first.name, *(each.other.name for each in comparisons)]
    stem = name_of(folder, names)
    compared_table.write(folder, stem, comparisons)
    write_made(folder / f"{stem}.svg", compared_plot.svg(comparisons))
    page = folder / f"{stem}.md"
    write_made(page, compared.text(comparisons, stem))
    return page


def _machines(names: list[str]) -> list[Machine]:
    """The machines that were named; the example's beside a single one."""
    known = places()
    shipped, _ = example.read(paths.PROJECT)
    wanted = list(names)
    for name in wanted:
        if wanted.count(name) > 1:
            raise UsageError(f"{name} is named twice: compare takes different machines")
    if len(wanted) == 1 and shipped is not None and shipped.machine not in wanted:
        wanted.append(shipped.machine)
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {_all(known)}"
            raise UsageError(f"no records of a machine {name!r}; {hint}")
    if len(wanted) < 2:
        if wanted and (others := sorted(set(known) - set(wanted))):
            raise UsageError(
                f"compare needs two machines: name one beside {wanted[0]}, as in "
                f"python3 bench.py compare {others[0]} {wanted[0]}"
            )
        raise UsageError(
            f"compare needs two machines, known here: {_all(known)}; "
            "python3 bench.py merge FILE takes in another one"
        )
    chosen = []
    for name in wanted:
        machine, problems = machines.read(known[name], name)
        for problem in problems:
            print(f"problem: {one_line(problem)}")
        chosen.append(machine)
    return chosen


def places() -> dict[str, Path]:
    """Where the records of each known machine lie: here, else the example that comes with us."""
    roots = dict.fromkeys(records.machines(paths.ROOT)[0], paths.ROOT)
    shipped, _ = example.read(paths.PROJECT)
    if shipped is not None:
        roots.setdefault(shipped.machine, paths.PROJECT / example.FOLDER)
    return roots


def _all(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
