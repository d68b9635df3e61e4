"""The `merge` verb: take machines' results into this clone, and write the tables again."""

from __future__ import annotations

import argparse

from cputrain import paths
from cputrain.commands import export
from cputrain.results.exchange import merged
from cputrain.results.exchange.merged import Came
from cputrain.wording import counted, one_line

MOST_NAMED = 10
"""Refusals of one machine that are named; of more it is said how many."""


def main(args: argparse.Namespace) -> int:
    """Merge, say what came in, and export; 1 where something was refused."""
    every = merged.merge(paths.ROOT, args.sources)
    for came in every:
        for line in _lines(came):
            print(one_line(line))
    exported = export.main(args)
    return 1 if exported or any(came.refused for came in every) else 0


def _lines(came: Came) -> list[str]:
    lines = []
    if came.machine is not None:
        parts = [f"{counted(came.added, 'record')} added"]
        parts += [f"{came.extended} with more workers"] if came.extended else []
        parts += [f"{came.equal} here already"] if came.equal else []
        parts += [counted(came.others, "other file")] if came.others else []
        lines.append(f"{came.source}: {came.machine}: {', '.join(parts)}")
        if came.machine != came.given:
            lines.append(f"{came.source}: it calls itself {came.given}, but {came.why}")
    what = "refused" if came.machine is None else "not taken"
    lines += [f"{came.source}: {what}: {reason}" for reason in came.refused[:MOST_NAMED]]
    if len(came.refused) > MOST_NAMED:
        lines.append(f"{came.source}: {what}: {len(came.refused) - MOST_NAMED} more")
    return lines
