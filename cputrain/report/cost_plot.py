"""The picture of a machine's costs: predicted against measured, a dot for each cell."""

from __future__ import annotations

from collections.abc import Mapping

from cputrain.analysis.cost.costs import Compared, Costs
from cputrain.report import charts, figure, lettering, ticks
from cputrain.report.figure import TICK, WIDE, Figure, Line, Mark, Sign
from cputrain.report.picture import color, short

TOP, HIGH = 62.0, 300.0
NOTE = "hollow: not among the cells that it was learned from; line: where both are the same"
X, Y = "measured, times the baseline's step", "predicted"


def of_time(costs: Costs) -> dict[str, list[Compared]]:
    """By engine, each cell's ratio to its reference, measured and predicted."""
    return {name: its.time.compared for name, its in costs.engines.items()}


def picture(machine: str, compared: Mapping[str, list[Compared]]) -> str:
    """The picture as the address of an image, which a page needs no file for.

    Args:
        compared: by engine; at least one cell.
    """
    return figure.address(draw(machine, compared))


def draw(machine: str, compared: Mapping[str, list[Compared]]) -> Figure:
    """What stands where in the picture: both axes are the same, and logarithmic."""
    values = [end for cells in compared.values() for cell in cells for end in _ends(cell)]
    bottom, right = TOP + HIGH, WIDE - 14
    up = charts.around(values, bottom, TOP)
    beside = ticks.of_time(up, _say, is_upright=True)
    left = 34 + max(lettering.width(tick.label, TICK) for tick in beside)
    across = charts.around(values, left, right)
    lines, marks = [], []
    for i, (engine, cells) in enumerate(compared.items()):
        its_color = color(engine, i)
        lines.append(Line(short(engine), its_color))
        marks += [_mark(cell, its_color, across, up) for cell in cells]
    diagonal = [(across.place(end), up.place(end)) for end in (min(values), max(values))]
    return Figure(
        title="Predicted against measured",
        machine=short(machine),
        description=_description(compared),
        height=round(bottom + 58, 1),
        left=round(left, 1),
        right=right,
        top=TOP,
        bottom=bottom,
        x=X,
        y=Y,
        x_ticks=ticks.of_time(across, _say, is_upright=False),
        y_ticks=beside,
        is_upright=True,
        lines=[*lines, Line(None, "open", diagonal)],
        marks=marks,
        notes=[NOTE],
    )


def _ends(cell: Compared) -> tuple[float, float]:
    return cell.measured, cell.predicted


def _mark(cell: Compared, color: str, across: charts.Scale, up: charts.Scale) -> Mark:
    sign: Sign = "dot" if cell.fits else "hollow"
    return Mark(across.place(cell.measured), up.place(cell.predicted), sign, color)


def _say(value: float) -> str:
    return f"{value:g}x"


def _description(compared: Mapping[str, list[Compared]]) -> str:
    cells = ", ".join(f"{len(its)} cells on {engine}" for engine, its in compared.items())
    return f"{Y} against {X}: {cells}"
