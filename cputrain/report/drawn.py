"""The small charts of the report: time over size, and the machine's drift through a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis import by_engine, identical
from cputrain.analysis.ends import measured
from cputrain.report import charts, words
from cputrain.report.charts import Line, Scale
from cputrain.report.machine_page import MachinePage
from cputrain.results.rows import CellResult

WIDE, HIGH = 320.0, 180.0
"""The units of a small chart's view box."""
FEWEST = 3
"""Points that a chart is made of."""
LEFT, RIGHT, TOP, BOTTOM = 44.0, WIDE - 8.0, 10.0, HIGH - 24.0
"""Where its axes end."""


@dataclass(frozen=True)
class Chart:
    """A small chart: its title, lines, and the scales that its ticks are from."""

    title: str
    lines: tuple[Line, ...]
    x: Scale
    y: Scale
    notes: tuple[str, ...] = ()


def sizes(page: MachinePage) -> list[Chart]:
    """For each suite of sizes time over size on two logarithmic axes, a line for each engine."""
    made = []
    for suite in page.sizes:
        lines: dict[str, list[tuple[float, float]]] = {}
        for cell, row in page.measured:
            if cell.suite != suite.suite:
                continue
            entry = measured(cell, row)
            size = _number(cell)
            if entry is not None and size is not None:
                name = by_engine.engine(cell) or identical.engine(cell) or suite.suite
                lines.setdefault(name, []).append((size, entry.effect))
        points = [point for its in lines.values() for point in its]
        if len({size for size, _ in points}) < FEWEST:
            continue
        x = charts.around([size for size, _ in points], LEFT, RIGHT)
        y = charts.around([effect for _, effect in points], BOTTOM, TOP)
        exponents = [
            f"{line.engine or next(iter(lines))}: k = {words.number(line.exponent, 2)}"
            for line in (suite, *suite.others)
            if line.exponent is not None
        ]
        drawn = tuple(
            Line(name, tuple((x.place(size), y.place(effect)) for size, effect in sorted(its)))
            for name, its in lines.items()
        )
        made.append(Chart(suite.suite, drawn, x, y, tuple(exponents)))
    return made


def _number(cell: CellResult) -> float | None:
    """A cell's value as a size; None where it is none."""
    match by_engine.settings(cell):
        case (bool(),):
            return None
        case (int() | float() as value,) if value > 0:
            return float(value)
        case _:
            return None


def drift(points: Sequence[tuple[float, float]]) -> Chart | None:
    """The default experiment's step time through the run; None below three workers."""
    if len(points) < FEWEST:
        return None
    x = charts.around([minute for minute, _ in points], LEFT, RIGHT, is_log=False)
    y = charts.around([1000 * s for _, s in points], BOTTOM, TOP, is_log=False)
    places = tuple((x.place(minute), y.place(1000 * seconds)) for minute, seconds in points)
    return Chart("", (Line("", places),), x, y)
