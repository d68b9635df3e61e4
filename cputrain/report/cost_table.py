"""A machine's costs as texts of the report: coefficients by engine, and how far off they are."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cputrain.analysis.cost.costs import LEVEL, Compared, Costs, Learned
from cputrain.analysis.cost.terms import TERMS
from cputrain.report import words

ERRORS_HEAD = (
    *("what", "engine", "cells", "median", "nine of ten within"),
    *("left out: median", "nine of ten within", f"in their {LEVEL * 100:.0f} % interval"),
)


def coefficients(costs: Costs) -> list[tuple[str, ...]]:
    """A row for each term: what it is, its unit, and the coefficient of each engine."""
    return [
        (
            term.what,
            term.unit,
            *(words.number(its.time.coefficients[name]) for its in costs.engines.values()),
        )
        for name, term in TERMS.items()
    ]


def errors(costs: Costs) -> Iterator[tuple[str, ...]]:
    """A row for time and memory of each engine (`ERRORS_HEAD`)."""
    for engine, its in costs.engines.items():
        yield ("step time", engine, *_errors(its.time))
        if its.memory is not None:
            yield ("peak memory", engine, *_errors(its.memory))


def _errors(its: Learned) -> tuple[str, ...]:
    summary = its.errors
    off = (summary.median, summary.p90, summary.median_out, summary.p90_out, summary.coverage)
    return (words.whole(summary.cells), *("" if x is None else words.percent(x) for x in off))


def cells(costs: Costs) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Cell, engine, measured, predicted, how far off, and that with each level left out."""
    for engine, its in costs.engines.items():
        for cell in its.time.compared:
            yield (
                cell.name if cell.fits else f"{cell.name} (not learned from)",
                engine,
                words.ratio(cell.measured),
                words.ratio(cell.predicted),
                _off(cell.off),
                _left_out(cell),
            )


def _left_out(cell: Compared) -> str:
    if not cell.left_out:
        return ""
    return _off(max(cell.left_out, key=lambda ratio: abs(math.log(ratio))))


def _off(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"
