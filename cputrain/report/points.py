"""The points of a plot, with interval and effect, and its axes: of values, or rows, and of time."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from cputrain.analysis import by_engine
from cputrain.analysis.ends import Measured
from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.report import words
from cputrain.report.picture import Picture, Series, short
from cputrain.results.rows import CellResult

LOG_FROM = 8.0
"""An axis is logarithmic from this ratio of its largest to its smallest value."""
BASE, BAND = "#D55E00", "#E4E4E4"
"""The baseline is vermilion of Okabe & Ito (2008), what counts as the same is grey."""
PAIRED, ALONE = "time over the baseline's", "time per step"
"""What the axis of time shows."""


def draw(axes: Axes, picture: Picture) -> list[Annotation]:
    """Every point, and the axis that it stands on beside that of time; the points' annotations."""
    return (_draw_numbers if picture.is_numeric else _draw_labels)(axes, picture)


def _draw_numbers(axes: Axes, picture: Picture) -> list[Annotation]:
    """Points over an axis of numbers; their annotations."""
    said = []
    for series in picture.series:
        cells = sorted(series.cells, key=lambda point: _number(point.cell))
        xs = [_number(point.cell) for point in cells]
        ys = [point.effect for point in cells]
        axes.plot(xs, ys, color=series.color, lw=1.2, alpha=0.55, zorder=2, label=series.name)
        for x, point in zip(xs, cells, strict=True):
            said += _point(axes, picture, series, point, x)
    places = sorted({_number(point.cell) for point in picture.shown})
    if places[0] > 0 and places[-1] / places[0] > LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_xlabel(short(by_engine.variable(picture.cells[0])))
    axes.set_ylabel(PAIRED if picture.is_paired else ALONE)
    axes.margins(x=0.07)
    return said


def _draw_labels(axes: Axes, picture: Picture) -> list[Annotation]:
    """Points in rows, a row for each value; their annotations."""
    labels, said = picture.labels, []
    for series in picture.series:
        axes.plot([], [], "o", ms=5.5, color=series.color, label=series.name)
        for point in series.cells:
            place = labels.index(by_engine.setting(point.cell)) + series.offset
            said += _point(axes, picture, series, point, place)
    axes.set_yticks(range(len(labels)), [short(label) for label in labels])
    axes.set_ylim(len(labels) - 0.4, -0.7)
    axes.set_ylabel(short(by_engine.variable(picture.cells[0])))
    axes.set_xlabel(PAIRED if picture.is_paired else ALONE)
    return said


def _number(cell: CellResult) -> float:
    return float(by_engine.settings(cell)[0])


def _point(
    axes: Axes, picture: Picture, series: Series, point: Measured, at: float
) -> list[Annotation]:
    """One cell: a dot, its interval, and its effect in words, which are returned."""
    value, is_base = point.effect, picture.is_paired and point.cell.is_baseline
    fill = BASE if is_base and not picture.has_engines else series.color
    error = None
    if point.low is not None and point.high is not None:
        error = [[value - point.low], [point.high - value]]
    kind: dict[str, Any] = {"fmt": "D" if is_base else "o", "ms": 5.5, "color": fill, "zorder": 3}
    kind |= {"capsize": 3, "elinewidth": 1.3}
    if picture.is_numeric:
        axes.errorbar([at], [value], yerr=error, **kind)
    else:
        axes.errorbar([value], [at], xerr=error, **kind)
    if is_base or not picture.is_paired:
        return []
    place, offset = ((at, value), 9) if picture.is_numeric else ((value, at), 6)
    color = series.color if picture.has_engines else "#222222"
    is_below = picture.is_numeric and picture.is_lowest_of_several(point)
    return [
        axes.annotate(
            words.effect(value), place, (0, -offset if is_below else offset),
            textcoords="offset points", fontsize=7.5, ha="center",
            va="top" if is_below else "bottom", color=color,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3},
        )
    ]  # fmt: skip


def scale_axis(axes: Axes, picture: Picture) -> None:
    """The axis of effects or seconds: its scale and labels, and the baseline on it."""
    values = [point.effect for point in picture.shown]
    is_upright = picture.is_numeric
    axis = axes.yaxis if is_upright else axes.xaxis
    span = axes.axhspan if is_upright else axes.axvspan
    line = axes.axhline if is_upright else axes.axvline
    if picture.is_paired:
        line(1.0, color=BASE, lw=0.9, ls=(0, (4, 3)), alpha=0.8, zorder=1)
        span(1 / SAME_WITHIN, SAME_WITHIN, color=BAND, lw=0, zorder=0)
    (axes.set_ymargin if is_upright else axes.set_xmargin)(0.16)
    if max(values) / min(values) > LOG_FROM:
        (axes.set_yscale if is_upright else axes.set_xscale)("log")
    elif max(values) / min(values) > 1.5:
        (axes.set_ylim if is_upright else axes.set_xlim)(0, 1.14 * max(values))
    shown = _ratio_tick if picture.is_paired else words.tick
    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value)))
    axes.grid(axis="y" if is_upright else "x", color="#EEEEEE", lw=0.8)
    axes.set_axisbelow(True)


def _ratio_tick(value: float) -> str:
    return f"{value:.4g}x"
