"""The `merge` verb: take machines' results into this clone, and write the tables again."""

from __future__ import annotations

import argparse

from cputrain import paths
from cputrain.commands import export
from cputrain.results.exchange import merged, told
from cputrain.wording import one_line


def main(args: argparse.Namespace) -> int:
    """Merge, say what came in, and export; 1 where something was refused."""
    every = merged.merge(paths.ROOT, args.sources)
    for came in every:
        for line in told.lines(came):
            print(one_line(line))
    exported = export.main(args)
    return 1 if exported or any(came.refused for came in every) else 0
