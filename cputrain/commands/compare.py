"""The `compare` verb: one machine beside others; releases and commits (`compare_releases`)."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cputrain import paths
from cputrain.analysis.machines import machine as machines
from cputrain.analysis.machines.machine import Machine
from cputrain.atomic import write_made
from cputrain.commands import compare_releases
from cputrain.errors import UsageError
from cputrain.machine import registry
from cputrain.report import compared, compared_plot, compared_table, example
from cputrain.report.compared import Comparison
from cputrain.report.comparisons import COMPARE, name_of
from cputrain.results import records
from cputrain.results.exchange import merged
from cputrain.wording import one_line

EXAMPLE = "example"
"""The name of example/'s machine here: this machine may have the same one of its own."""
ANOTHER = (
    "python3 bench.py measures this one, python3 bench.py merge FILE takes in another one's results"
)

Place = tuple[Path, str]
"""The folder that has a machine's records, and its name there."""


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
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is named twice: compare takes different machines")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {_all(known)}"
            raise UsageError(f"no records of a machine {name!r}; {hint}")
    if not names:
        listed = _all({name for _, name in known.values()})
        raise UsageError(f"compare needs two machines, known here: {listed}; {ANOTHER}")
    wanted = names if len(names) > 1 else _with_another(names[0], known)
    if len({known[name] for name in wanted}) < len(wanted):
        raise UsageError(
            f"{known[EXAMPLE][1]} and {EXAMPLE} are one machine: compare takes different ones"
        )
    chosen = []
    for label in wanted:
        machine, problems = machines.read(*known[label])
        for problem in problems:
            print(f"problem: {one_line(problem)}")
        chosen.append(replace(machine, name=label))
        if EXAMPLE in known and known[label] != known[EXAMPLE] and label == known[EXAMPLE][1]:
            print(f"{label} is this clone's; the example's machine of this name is {EXAMPLE}")
    return chosen


def _with_another(name: str, known: dict[str, Place]) -> list[str]:
    """A single machine, and what it is put beside. Raises UsageError where there is nothing."""
    here = sorted(other for other, (root, _) in known.items() if root == paths.ROOT)
    shipped = known.get(EXAMPLE)
    if name == EXAMPLE:
        this = registry.name_here(result=paths.RESULT).name
        if this in here:
            return [this, name]
    elif shipped is not None and name in here:
        return [name, EXAMPLE if shipped[1] in here else shipped[1]]
    if others := [other for other in here if other != name]:
        raise UsageError(
            f"compare needs two machines: name one beside {name}, as in "
            f"python3 bench.py compare {others[0]} {name}"
        )
    raise UsageError(f"compare needs two machines, and {name} is all that is known; {ANOTHER}")


def places() -> dict[str, Place]:
    """Where the records of each known machine lie: here, else the example that comes with us."""
    known = {name: (paths.ROOT, name) for name in records.machines(paths.ROOT)[0]}
    shipped, _ = example.read(paths.PROJECT)
    if shipped is not None:
        place = paths.PROJECT / example.FOLDER, shipped.machine
        known.setdefault(shipped.machine, place)
        known[EXAMPLE] = place
    return known


def _all(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
