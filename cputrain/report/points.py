"""The points of a plot with their intervals and effects, and the axis of time that they lie on."""

from __future__ import annotations

from cputrain.analysis.ends import Measured
from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.report import lettering, words
from cputrain.report.charts import Scale
from cputrain.report.figure import Mark, PointLabel
from cputrain.report.picture import Picture, Series

LOG_FROM = 8.0
"""An axis is logarithmic from this ratio of its largest to its smallest value."""
FROM_ZERO = 1.5
"""A linear one begins at 0 from this ratio."""
ABOVE, BELOW, IN_ROW = 9.0, 16.0, 7.0
"""Units between a point and the line that its text stands on."""


def time_scale(picture: Picture, start: float, end: float) -> Scale:
    """The axis of effects or seconds, which all points and intervals lie within.

    Args:
        picture: what is shown; it has a point.
        start, end: places of its ends.
    """
    values = [point.effect for point in picture.shown]
    ends = [*values, *(e for p in picture.shown for e in (p.low, p.high) if e is not None)]
    if picture.is_paired:
        ends += [1 / SAME_WITHIN, SAME_WITHIN]
    low, high, ratio = min(ends), max(ends), max(values) / min(values)
    if ratio > LOG_FROM:
        margin = (high / low) ** 0.08
        return Scale(low / margin, high * margin, start, end)
    if ratio > FROM_ZERO:
        return Scale(0.0, 1.08 * high, start, end, is_log=False)
    margin = 0.12 * (high - low) or 0.1 * high
    return Scale(low - margin, high + margin, start, end, is_log=False)


def mark(picture: Picture, series: Series, point: Measured, at: float, scale: Scale) -> Mark:
    """One cell: a dot, or a diamond for what others are compared with, and its interval.

    Args:
        picture, series: that it is of.
        point: the cell.
        at: its place on the axis beside that of time.
        scale: the axis of time.
    """
    place = scale.place(point.effect)
    is_base = picture.is_paired and point.cell.is_baseline
    ends = None
    if point.low is not None and point.high is not None and point.low < point.high:
        ends = scale.place(point.low), scale.place(point.high)
    x, y = (at, place) if picture.is_numeric else (place, at)
    color = "base" if is_base and not picture.has_engines else series.color
    return Mark(x, y, "diamond" if is_base else "dot", color, ends)


def effect_labels(picture: Picture, series: Series, point: Measured, its: Mark) -> list[PointLabel]:
    """The effect in words beside its point; none beside a baseline, or where seconds are shown."""
    if point.cell.is_baseline or not picture.is_paired:
        return []
    color = series.color if picture.has_engines else "ink"
    above = ABOVE if picture.is_numeric else IN_ROW
    is_below = picture.is_numeric and picture.is_lowest_of_several(point)
    y = round(its.y + BELOW if is_below else its.y - above, 1)
    return [PointLabel(its.x, y, words.effect(point.effect), color)]


def apart(texts: list[PointLabel]) -> list[PointLabel]:
    """Without those that would lie on an earlier one."""
    return [texts[i] for i in lettering.apart([text.box for text in texts])]
