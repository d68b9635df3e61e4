"""One SVG per suite: step time against value, with interval, baseline and noise floor.

A suite that has the engine as its second parameter has one line of points for each engine.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from cputrain.analysis import by_engine, noise_floor
from cputrain.analysis.ranking import CellRow
from cputrain.atomic import write_bytes
from cputrain.report import ticks, words
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult
from cputrain.wording import one_line

LOG_FROM = 8.0
"""An axis is logarithmic from this ratio of its largest to its smallest value."""
POINT, BASE, QUIET, BAND = "#0072B2", "#D55E00", "#555555", "#E4E4E4"
"""Blue and vermilion of Okabe & Ito (2008), told apart by the colour-blind too; greys."""
ENGINES = (POINT, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of the same authors: the engines' colours, in their order; the first again after the last."""
LONGEST_NAME, LONGEST_NOTE = 40, 110
"""Signs of a name, and of a line below the picture, that the picture has room for."""
NAMED_FAILURES = 4
ROOM = 0.7
"""Of a row's height, what its engines share."""
STYLE = {
    "text.parse_math": False,  # a name with a dollar sign is no formula
    "svg.hashsalt": "cputrain",  # the same figure gives the same file
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "axes.labelcolor": "#222222",
}


@dataclass(frozen=True)
class Series:
    """The cells of one engine that have a number, in their order.

    Attributes:
        engine: None where a suite has no engines beside its variable.
        offset: where its points stand within a row of a picture with labels, in rows.
    """

    engine: str | None
    color: str
    offset: float
    cells: Sequence[CellRow]


@dataclass(frozen=True)
class Picture:
    """What one plot shows: the rows and cells of one suite, in order; and the noise floor."""

    rows: Sequence[Row]
    cells: Sequence[CellResult]
    noise: float | None

    @property
    def shown(self) -> list[CellRow]:
        """The cells that have a number."""
        return [(c, r) for c, r in zip(self.cells, self.rows, strict=True) if c.ok]

    @property
    def series(self) -> list[Series]:
        """The cells that have a number, by engine; a color belongs to an engine, run or not."""
        names: Sequence[str | None] = by_engine.engines(self.cells) or [None]
        made = []
        for i, name in enumerate(names):
            cells = [pair for pair in self.shown if by_engine.engine(pair[0]) == name]
            offset = (i - (len(names) - 1) / 2) * ROOM / len(names)
            if cells:
                made.append(Series(name, ENGINES[i % len(ENGINES)], offset, cells))
        return made

    @property
    def has_engines(self) -> bool:
        """Whether the engine is a parameter beside the variable."""
        return bool(by_engine.engines(self.cells))

    @property
    def baseline_s(self) -> float | None:
        """The baseline's step time; None where there is none, or one for each engine."""
        if self.has_engines:
            return None
        ratios = [row["step_s"] / row["effect"] for _, row in self.shown if row["effect"]]
        return ratios[0] if ratios else None

    def is_lowest_of_several(self, row: Row) -> bool:
        """Whether other engines have the same value, and all are slower: its ratio goes below."""
        place = next(by_engine.settings(cell) for cell, other in self.shown if other is row)
        same = [r["step_s"] for cell, r in self.shown if by_engine.settings(cell) == place]
        return len(same) > 1 and row["step_s"] == min(same)

    @property
    def is_numeric(self) -> bool:
        """Whether values are points on an axis: one variable, numbers, two of them at least."""
        values = [by_engine.settings(cell) for cell in self.cells if cell.values]
        numbers = all(len(v) == 1 and type(v[0]) in (int, float) for v in values)
        return numbers and len({by_engine.settings(cell) for cell, _ in self.shown}) > 1


def draw_all(
    folder: Path,
    rows: Sequence[Row],
    cells: Sequence[CellResult],
    floors: Mapping[str | None, float],
) -> dict[str, Path]:
    """Write folder/<suite>.svg for every suite of one machine that has a number; their paths."""
    drawn = {}
    for suite in dict.fromkeys(cell.suite for cell in cells if cell.ok):
        mine = [i for i, cell in enumerate(cells) if cell.suite == suite]
        engine = next(rows[i]["engine"] for i in mine if cells[i].ok)
        noise = noise_floor.of_engine(floors, engine)
        picture = Picture([rows[i] for i in mine], [cells[i] for i in mine], noise)
        drawn[suite] = folder / f"{suite}.svg"
        write_bytes(drawn[suite], svg(picture))
    return drawn


def svg(picture: Picture) -> bytes:
    """The picture as SVG; equal pictures give equal bytes."""
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        buffer = io.BytesIO()
        figure(picture).savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def figure(picture: Picture) -> Figure:
    """The picture as a matplotlib figure."""
    labels = _labels_of(picture)
    row_height = 0.34 if len(picture.series) == 1 else 0.18 * len(picture.series) + 0.08
    height = 3.4 if picture.is_numeric else 1.5 + row_height * len(labels)
    whole = Figure(figsize=(7.2, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(whole)
    axes = whole.add_subplot()
    first = picture.cells[0]
    axes.set_title(_short(first.suite), loc="left", fontweight="bold", fontsize=11)
    axes.set_title(_short(first.machine), loc="right", fontsize=8, color=QUIET)
    whole.supxlabel(_note(picture), fontsize=7.5, color=QUIET, x=0.99, ha="right")
    ratios = (_draw_numbers if picture.is_numeric else _draw_labels)(axes, picture)
    if picture.has_engines:
        axes.legend(fontsize=8, frameon=False, labelcolor="#222222")
    _time_axis(axes, picture)
    time = axes.yaxis if picture.is_numeric else axes.xaxis
    ticks.round_places(whole, time)
    if picture.is_numeric:
        ticks.thin(whole, axes.xaxis)
    ticks.thin_annotations(whole, ratios)
    return whole


def _note(picture: Picture) -> str:
    """What stands below the picture: what its signs mean, and which cells it lacks."""
    note = []
    if picture.has_engines:
        note.append("diamond: the engine's baseline; ratios are to it")
    elif picture.baseline_s:
        note.append("orange: baseline" + (", grey band: noise floor" if picture.noise else ""))
    missing = [f"{_short(c.value)} ({c.status})" for c in picture.cells if not c.ok and c.mode]
    if missing:
        more = len(missing) - NAMED_FAILURES
        rest = f" and {more} more" if more > 0 else ""
        note.append("no number: " + ", ".join(missing[:NAMED_FAILURES]) + rest)
    return textwrap.fill(one_line("; ".join(note)), LONGEST_NOTE)


def _draw_numbers(axes: Axes, picture: Picture) -> list[Annotation]:
    """Points over an axis of numbers; their annotations."""
    ratios = []
    for series in picture.series:
        cells = sorted(series.cells, key=lambda pair: _number(pair[0]))
        xs = [_number(cell) for cell, _ in cells]
        times = [row["step_s"] for _, row in cells]
        axes.plot(xs, times, color=series.color, lw=1.2, alpha=0.55, zorder=2, label=_name(series))
        for x, (_, row) in zip(xs, cells, strict=True):
            ratios += _point(axes, picture, series, row, x)
    places = sorted({_number(cell) for cell, _ in picture.shown})
    if places[0] > 0 and places[-1] / places[0] > LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_xlabel(_short(by_engine.variable(picture.cells[0])))
    axes.set_ylabel("time per step")
    axes.margins(x=0.07)
    return ratios


def _draw_labels(axes: Axes, picture: Picture) -> list[Annotation]:
    """Points in rows, a row for each value; their annotations."""
    labels, ratios = _labels_of(picture), []
    for series in picture.series:
        axes.plot([], [], "o", ms=5.5, color=series.color, label=_name(series))
        for cell, row in series.cells:
            place = labels.index(by_engine.setting(cell)) + series.offset
            ratios += _point(axes, picture, series, row, place)
    axes.set_yticks(range(len(labels)), [_short(label) for label in labels])
    axes.set_ylim(len(labels) - 0.4, -0.7)
    axes.set_ylabel(_short(by_engine.variable(picture.cells[0])))
    axes.set_xlabel("time per step")
    return ratios


def _labels_of(picture: Picture) -> list[str]:
    return list(dict.fromkeys(by_engine.setting(cell) for cell, _ in picture.shown))


def _number(cell: CellResult) -> float:
    return float(by_engine.settings(cell)[0])


def _name(series: Series) -> str | None:
    return series.engine and _short(series.engine)


def _short(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= LONGEST_NAME else plain[: LONGEST_NAME - 3] + "..."


def _point(axes: Axes, picture: Picture, series: Series, row: Row, at: float) -> list[Annotation]:
    """One cell: a dot, its interval, and its ratio to the baseline, which is returned."""
    value, effect = row["step_s"], row["effect"]
    is_base = effect == 1.0 and row["effect_low"] == 1.0
    point = BASE if is_base and not picture.has_engines else series.color
    error = None
    if row["step_s_low"] is not None:
        error = [[value - row["step_s_low"]], [row["step_s_high"] - value]]
    kind: dict[str, Any] = {"fmt": "D" if is_base else "o", "ms": 5.5, "color": point, "zorder": 3}
    kind |= {"capsize": 3, "elinewidth": 1.3}
    if picture.is_numeric:
        axes.errorbar([at], [value], yerr=error, **kind)
    else:
        axes.errorbar([value], [at], xerr=error, **kind)
    if effect is None or is_base:
        return []
    place, offset = ((at, value), 9) if picture.is_numeric else ((value, at), 6)
    color = series.color if picture.has_engines else "#222222"
    is_below = picture.is_numeric and picture.is_lowest_of_several(row)
    return [
        axes.annotate(
            words.ratio(effect), place, (0, -offset if is_below else offset),
            textcoords="offset points", fontsize=7.5, ha="center",
            va="top" if is_below else "bottom", color=color,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )
    ]  # fmt: skip


def _time_axis(axes: Axes, picture: Picture) -> None:
    times = [row["step_s"] for _, row in picture.shown]
    is_upright = picture.is_numeric
    axis = axes.yaxis if is_upright else axes.xaxis
    span = axes.axhspan if is_upright else axes.axvspan
    line = axes.axhline if is_upright else axes.axvline
    if picture.baseline_s:
        line(picture.baseline_s, color=BASE, lw=0.9, ls=(0, (4, 3)), alpha=0.8, zorder=1)
        if picture.noise:
            low, high = 1 / (1 + picture.noise), 1 + picture.noise
            span(picture.baseline_s * low, picture.baseline_s * high, color=BAND, lw=0, zorder=0)
    (axes.set_ymargin if is_upright else axes.set_xmargin)(0.16)
    if max(times) / min(times) > LOG_FROM:
        (axes.set_yscale if is_upright else axes.set_xscale)("log")
    elif max(times) / min(times) > 1.5:
        (axes.set_ylim if is_upright else axes.set_xlim)(0, 1.14 * max(times))
    axis.set_major_formatter(FuncFormatter(lambda t, _: words.tick(t)))
    axes.grid(axis="y" if is_upright else "x", color="#EEEEEE", lw=0.8)
    axes.set_axisbelow(True)
