"""One SVG per suite: effect against value, with interval, baseline and what counts as the same.

A suite without effects shows seconds.

A suite that has the engine as its second parameter has one line of points for each engine.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from cputrain.analysis import by_engine
from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.atomic import write_made
from cputrain.report import figure, lettering, points, ticks, words
from cputrain.report.charts import Scale
from cputrain.report.figure import TICK, WIDE, Figure, Line, Mark, PointLabel, Tick
from cputrain.report.picture import Picture, short
from cputrain.report.points import LOG_FROM
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult
from cputrain.wording import one_line

LONGEST_NOTE = 105
"""Signs of a line below the picture that it has room for."""
NAMED_FAILURES = 4
PAIRED, ALONE = "time over the baseline's", "time per step"
"""What the axis of time shows."""
NUMBERS_HIGH, ROW_HIGH = 210.0, 34.0
"""Height of the axes over numbers, and of a row."""
BELOW = 44.0
"""Room for what stands at the lower axis."""
NOTE_HIGH = 14.0


def places(folder: Path, cells: Sequence[CellResult]) -> dict[str, Path]:
    """folder/<suite>.svg of every suite of one machine that has a number."""
    suites = dict.fromkeys(cell.suite for cell in cells if cell.ok)
    return {suite: folder / f"{suite}.svg" for suite in suites}


def draw_all(folder: Path, rows: Sequence[Row], cells: Sequence[CellResult]) -> dict[str, Path]:
    """Write those pictures; their paths."""
    drawn = places(folder, cells)
    for suite, path in drawn.items():
        its = [i for i, cell in enumerate(cells) if cell.suite == suite]
        write_made(path, svg(Picture([rows[i] for i in its], [cells[i] for i in its])))
    return drawn


def svg(picture: Picture) -> bytes:
    """The picture as SVG; equal pictures give equal bytes."""
    return figure.svg(draw(picture))


def draw(picture: Picture) -> Figure:
    """What stands where in the picture."""
    return _numbers(picture) if picture.is_numeric else _labels(picture)


def _numbers(picture: Picture) -> Figure:
    """Points over an axis of numbers; the axis of time goes up."""
    top = 62.0 if picture.has_engines else 42.0
    bottom, right = top + NUMBERS_HIGH, WIDE - 14
    time = points.time_scale(picture, bottom, top)
    beside = ticks.of_time(time, _say(picture), is_upright=True)
    left = 34 + max(lettering.width(tick.label, TICK) for tick in beside)
    across = _number_scale(picture, left + 24, right - 24)
    marks: list[Mark] = []
    point_labels: list[PointLabel] = []
    lines: list[Line] = []
    for series in picture.series:
        its = sorted(series.cells, key=lambda point: _number(point.cell))
        drawn = [points.mark(picture, series, p, across.place(_number(p.cell)), time) for p in its]
        lines.append(Line(series.name, series.color, [(mark.x, mark.y) for mark in drawn]))
        marks += drawn
        for point, mark in zip(its, drawn, strict=True):
            point_labels += points.effect_labels(picture, series, point, mark)
    below = ticks.of_values(across, [_number(point.cell) for point in picture.shown])
    names = short(by_engine.variable(picture.cells[0])), PAIRED if picture.is_paired else ALONE
    return _whole(picture, (left, right, top, bottom), names, (below, beside), time,
                  (lines, marks, point_labels))  # fmt: skip


def _labels(picture: Picture) -> Figure:
    """Points in rows, a row for each value; the axis of time goes across."""
    labels, series = picture.labels, picture.series
    row = ROW_HIGH if len(series) == 1 else 18.0 * len(series) + 8.0
    top, right = 50.0 if picture.has_engines else 32.0, WIDE - 14
    left = 34 + max(lettering.width(short(label), TICK) for label in labels)
    bottom = top + row * (len(labels) + 0.3)
    time = points.time_scale(picture, left, right)
    rows = [round(top + row * (i + 0.65), 1) for i in range(len(labels))]
    marks: list[Mark] = []
    point_labels: list[PointLabel] = []
    for its in series:
        for point in its.cells:
            at = rows[labels.index(by_engine.setting(point.cell))] + its.offset * row
            marks.append(points.mark(picture, its, point, round(at, 1), time))
            point_labels += points.effect_labels(picture, its, point, marks[-1])
    beside = [Tick(place, short(label)) for place, label in zip(rows, labels, strict=True)]
    below = ticks.of_time(time, _say(picture), is_upright=False)
    names = PAIRED if picture.is_paired else ALONE, short(by_engine.variable(picture.cells[0]))
    lines = [Line(its.name, its.color) for its in series]
    return _whole(picture, (left, right, top, bottom), names, (below, beside), time,
                  (lines, marks, point_labels))  # fmt: skip


def _whole(
    picture: Picture,
    ends: tuple[float, float, float, float],
    names: tuple[str, str],
    places: tuple[list[Tick], list[Tick]],
    time: Scale,
    drawn: tuple[list[Line], list[Mark], list[PointLabel]],
) -> Figure:
    """The figure, from its axes' ends, names and ticks, and what is drawn between them."""
    first, (lines, marks, point_labels) = picture.cells[0], drawn
    notes, (left, right, top, bottom) = _notes(picture), ends
    band = (time.place(1 / SAME_WITHIN), time.place(SAME_WITHIN)) if picture.is_paired else None
    return Figure(
        short(first.suite),
        short(first.machine),
        _description(picture),
        round(bottom + BELOW + NOTE_HIGH * len(notes) + (4 if notes else 0), 1),
        *(round(left, 1), right, top, round(bottom, 1)),
        *names,
        *places,
        picture.is_numeric,
        band,
        time.place(1.0) if picture.is_paired else None,
        lines,
        marks,
        points.apart(point_labels),
        notes,
    )


def _number_scale(picture: Picture, start: float, end: float) -> Scale:
    values = [_number(point.cell) for point in picture.shown]
    low, high = min(values), max(values)
    return Scale(low, high, start, end, is_log=low > 0 and high / low > LOG_FROM)


def _number(cell: CellResult) -> float:
    return float(by_engine.settings(cell)[0])


def _say(picture: Picture) -> Callable[[float], str]:
    return _ratio_tick if picture.is_paired else words.tick


def _ratio_tick(value: float) -> str:
    return f"{value:.4g}x"


def _description(picture: Picture) -> str:
    """The points in words: "seq_len 128: 0.667x, seq_len 512: 2.05x"."""
    say = _ratio_tick if picture.is_paired else words.seconds
    name = short(by_engine.variable(picture.cells[0]))
    texts = [f"{short(point.cell.value)}: {say(point.effect)}" for point in picture.shown]
    return f"{PAIRED if picture.is_paired else ALONE} by {name}: {', '.join(texts)}"


def _notes(picture: Picture) -> list[str]:
    """The lines below the picture: what its signs mean, and which cells it lacks."""
    note = []
    if picture.is_paired:
        whose = "the engine's baseline" if picture.has_engines else "baseline"
        note.append(f"diamond: {whose}, grey: the same within {words.percent(SAME_WITHIN - 1)}")
    missing = [f"{short(c.value)} ({why})" for c, why in picture.missing if c.mode]
    if missing:
        more = len(missing) - NAMED_FAILURES
        rest = f" and {more} more" if more > 0 else ""
        note.append("not shown: " + ", ".join(missing[:NAMED_FAILURES]) + rest)
    return textwrap.wrap(one_line("; ".join(note)), LONGEST_NOTE)
