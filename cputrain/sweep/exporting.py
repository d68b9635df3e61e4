"""The tables, from the run records alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cputrain import paths

if TYPE_CHECKING:
    from cputrain.report.export import Summary


def export() -> Summary:
    """Write every table and page under result/; a merge that was killed goes on before."""
    from cputrain.report.export import export as write
    from cputrain.results.exchange import merged
    from cputrain.results.problem import Problem
    from cputrain.sweep import declared

    unfinished = [Problem(paths.STATE, line) for line in merged.finish(paths.ROOT)]
    summary = write(paths.ROOT, declared.by_machine())
    summary.problems.extend(unfinished)
    return summary
