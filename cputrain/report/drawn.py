"""The small charts of the report: time over size, and the machine's drift through a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis import by_engine, identical
from cputrain.analysis.ends import measured
from cputrain.report import charts, ticks, words
from cputrain.report.charts import Scale
from cputrain.report.figure import Line, Tick
from cputrain.report.machine_page import MachinePage
from cputrain.report.picture import color
from cputrain.results.rows import CellResult

WIDE, HIGH = 320.0, 180.0
"""The units of a small chart's view box."""
FEWEST = 3
"""Points that a chart is made of."""
FONT, INSET = 10.0, 16.0
"""Size of its texts, as in `report.css`; room beside an axis for half the label of a tick."""
LEFT, RIGHT, TOP, BOTTOM = 44.0, WIDE - INSET, 10.0, HIGH - 24.0
"""Where its axes end."""


@dataclass(frozen=True)
class Chart:
    """A small chart: its title, lines, and ticks."""

    title: str
    lines: tuple[Line, ...]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    notes: tuple[str, ...] = ()


def times(scale: Scale, is_upright: bool = False) -> list[Tick]:
    """The ticks of an axis of times over a baseline's."""
    return ticks.of_time(scale, lambda value: f"{value:g}x", is_upright, FONT)


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
        values = {size for size, _ in points}
        if len(values) < FEWEST:
            continue
        x = charts.around([*values], LEFT, RIGHT)
        y = charts.around([effect for _, effect in points], BOTTOM, TOP)
        exponents = [
            f"{line.engine or next(iter(lines))}: k = {words.number(line.exponent, 2)}"
            for line in (suite, *suite.others)
            if line.exponent is not None
        ]
        drawn = tuple(
            Line(name, color(name, i), [(x.place(size), y.place(at)) for size, at in sorted(its)])
            for i, (name, its) in enumerate(lines.items())
        )
        below, beside = ticks.of_values(x, values, FONT), times(y, is_upright=True)
        made.append(Chart(suite.suite, drawn, below, beside, tuple(exponents)))
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
    places = [(x.place(minute), y.place(1000 * seconds)) for minute, seconds in points]
    below, beside = (
        ticks.of_time(scale, "{:g}".format, is_upright, FONT)
        for scale, is_upright in ((x, False), (y, True))
    )
    return Chart("", (Line(None, color(None, 0), places),), below, beside)
