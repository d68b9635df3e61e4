"""The picture of a comparison: each suite's ratio with its interval, engine by engine."""

from __future__ import annotations

from collections.abc import Sequence

from cputrain.analysis.machines.ratios import Ratio
from cputrain.report import figure, lettering, ticks, words
from cputrain.report.charts import Scale, around
from cputrain.report.compared import Comparison
from cputrain.report.figure import TICK, WIDE, Figure, Line, Mark, Sign, Tick
from cputrain.report.picture import COLORS, ROOM, color, short

ALL = "all suites"
ROW_HIGH, MARK_HIGH, TOP = 24.0, 10.0, 56.0
"""A row grows with the marks in it."""
ACROSS = "time of a step over the other machine's, 99 % interval (left: it is faster)"


def svg(comparisons: Sequence[Comparison]) -> bytes:
    """The picture as SVG; equal comparisons give equal bytes."""
    return figure.svg(draw(comparisons))


def draw(comparisons: Sequence[Comparison]) -> Figure:
    """What stands where: a row for each suite, a colour for each engine and other machine."""
    series = _series(comparisons)
    labels = list(dict.fromkeys(str(line.suite or ALL) for its in series.values() for line in its))
    labels = [*(label for label in labels if label != ALL), ALL]
    left = 14 + max(lettering.width(short(label), TICK) for label in labels)
    high = max(ROW_HIGH, MARK_HIGH * len(series))
    bottom = TOP + high * (len(labels) + 0.3)
    scale = _scale([line for its in series.values() for line in its], left)
    rows = {label: round(TOP + high * (i + 0.65), 1) for i, label in enumerate(labels)}
    marks, names = [], []
    for number, (name, its) in enumerate(series.items()):
        has_others = len(comparisons) > 1
        its_color = COLORS[number % len(COLORS)] if has_others else color(name, number)
        offset = (number - (len(series) - 1) / 2) * ROOM / len(series) * high
        names.append(Line(short(name), its_color))
        for line in its:
            row = round(rows[line.suite or ALL] + offset, 1)
            ends = None if line.low is None or line.high is None else (line.low, line.high)
            places = None if ends is None else (scale.place(ends[0]), scale.place(ends[1]))
            sign: Sign = "hollow" if line.verdict == "not told" else "dot"
            marks.append(Mark(scale.place(line.value), row, sign, its_color, places))
    means = [line for its in comparisons for line in its.engines]
    ratios = ", ".join(f"{line.engine} {words.ratio(line.value)}" for line in means)
    others = ", ".join(its.other.name for its in comparisons)
    return Figure(
        title=f"Beside {short(others)}",
        machine=short(comparisons[0].first.name),
        description=f"{ACROSS}; over all suites: {ratios}",
        height=round(bottom + 44, 1),
        left=round(left, 1),
        right=WIDE - 14,
        top=TOP,
        bottom=round(bottom, 1),
        x=ACROSS,
        y="",
        x_ticks=ticks.of_time(scale, lambda value: f"{value:g}x", is_upright=False),
        y_ticks=[Tick(row, short(label)) for label, row in rows.items()],
        is_upright=False,
        baseline=scale.place(1.0),
        lines=names,
        marks=marks,
    )


def _series(comparisons: Sequence[Comparison]) -> dict[str, list[Ratio]]:
    """Ratios by what has a colour: the engine, and the other machine where there are several."""
    series: dict[str, list[Ratio]] = {}
    for its in comparisons:
        for line in (*its.suites, *its.engines):
            name = f"{line.engine}, {its.other.name}" if len(comparisons) > 1 else line.engine
            series.setdefault(name, []).append(line)
    return series


def _scale(every: Sequence[Ratio], left: float) -> Scale:
    """Intervals that are far wider than the ratios lie apart do not stretch it."""
    values = [line.value for line in every]
    low, high = min([*values, 1.0]) / 2, max([*values, 1.0]) * 2
    ends = [end for line in every for end in (line.low, line.high) if end is not None]
    return around([1.0, *values, *(min(max(end, low), high) for end in ends)], left, WIDE - 14)
