"""One SVG per suite: step time against value, with interval, baseline and noise floor."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from cputrain.atomic import write_bytes
from cputrain.report import words
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

LOG_FROM = 8.0
"""An axis is logarithmic from this ratio of its largest to its smallest value."""
POINT, BASE, QUIET, BAND = "#0072B2", "#D55E00", "#555555", "#E4E4E4"
"""Blue and vermilion of Okabe & Ito (2008), told apart by the colour-blind too; greys."""
STYLE = {
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
class Picture:
    """What one plot shows: the rows and cells of one suite, in order; and the noise floor."""

    rows: Sequence[Row]
    cells: Sequence[CellResult]
    noise: float | None

    @property
    def shown(self) -> list[tuple[CellResult, Row]]:
        """The cells that have a number."""
        return [(c, r) for c, r in zip(self.cells, self.rows, strict=True) if c.ok]

    @property
    def baseline_s(self) -> float | None:
        """The baseline's step time."""
        ratios = [row["step_s"] / row["effect"] for _, row in self.shown if row["effect"]]
        return ratios[0] if ratios else None

    @property
    def is_numeric(self) -> bool:
        """Whether values are points on an axis: one parameter, numbers, two of them at least."""
        known = [cell.values for cell in self.cells if cell.values]
        numbers = all(type(v[0]) in (int, float) and len(v) == 1 for v in known)
        return numbers and len(self.shown) > 1


def draw_all(
    folder: Path, rows: Sequence[Row], cells: Sequence[CellResult], noise: float | None
) -> dict[str, Path]:
    """Write folder/<suite>.svg for every suite of one machine that has a number; their paths."""
    drawn = {}
    for suite in dict.fromkeys(cell.suite for cell in cells if cell.ok):
        mine = [i for i, cell in enumerate(cells) if cell.suite == suite]
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
    shown = picture.shown
    height = 3.4 if picture.is_numeric else 1.5 + 0.34 * len(shown)
    whole = Figure(figsize=(7.2, height), layout="constrained", facecolor="white")
    axes = whole.add_subplot()
    first = picture.cells[0]
    axes.set_title(first.suite, loc="left", fontweight="bold", fontsize=11)
    axes.set_title(first.machine, loc="right", fontsize=8, color=QUIET)
    (_numeric if picture.is_numeric else _labels)(axes, picture)
    missing = [f"{c.value} ({c.status})" for c in picture.cells if not c.ok and c.mode]
    note = []
    if picture.baseline_s:
        note.append("orange: baseline" + (", grey band: noise floor" if picture.noise else ""))
    if missing:
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        note.append("no number: " + ", ".join(missing[:4]) + more)
    whole.supxlabel("; ".join(note), fontsize=7.5, color=QUIET, x=0.99, ha="right")
    return whole


def _numeric(axes: Axes, picture: Picture) -> None:
    shown = sorted(picture.shown, key=lambda pair: pair[0].values[0])
    xs = [float(cell.values[0]) for cell, _ in shown]
    axes.plot(xs, [row["step_s"] for _, row in shown], color=POINT, lw=1.2, alpha=0.55, zorder=2)
    for x, (_, row) in zip(xs, shown, strict=True):
        _point(axes, row, x, is_upright=True)
    if min(xs) > 0 and max(xs) / min(xs) > LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator(xs))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_xlabel(shown[0][0].param_names[0])
    axes.set_ylabel("time per step")
    axes.margins(x=0.07)
    _time_axis(axes, picture, is_upright=True)


def _labels(axes: Axes, picture: Picture) -> None:
    shown = picture.shown
    for y, (_, row) in enumerate(shown):
        _point(axes, row, y, is_upright=False)
    axes.set_yticks(range(len(shown)), [cell.value for cell, _ in shown])
    axes.set_ylim(len(shown) - 0.4, -0.7)
    axes.set_ylabel(" x ".join(shown[0][0].param_names))
    axes.set_xlabel("time per step")
    _time_axis(axes, picture, is_upright=False)


def _point(axes: Axes, row: Row, at: float, is_upright: bool) -> None:
    """One cell: a dot, its interval, and its ratio to the baseline."""
    value, effect = row["step_s"], row["effect"]
    is_base = effect == 1.0 and row["effect_low"] == 1.0
    color = BASE if is_base else POINT
    error = None
    if row["step_s_low"] is not None:
        error = [[value - row["step_s_low"]], [row["step_s_high"] - value]]
    kind: dict[str, Any] = {"fmt": "D" if is_base else "o", "ms": 5.5, "color": color, "zorder": 3}
    kind |= {"capsize": 3, "elinewidth": 1.3}
    if is_upright:
        axes.errorbar([at], [value], yerr=error, **kind)
    else:
        axes.errorbar([value], [at], xerr=error, **kind)
    if effect is not None and not is_base:
        place, offset = ((at, value), (0, 9)) if is_upright else ((value, at), (0, 6))
        axes.annotate(
            words.ratio(effect), place, offset, textcoords="offset points", fontsize=7.5,
            ha="center", va="bottom", color="#222222",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip


def _time_axis(axes: Axes, picture: Picture, is_upright: bool) -> None:
    times = [row["step_s"] for _, row in picture.shown]
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
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
    elif max(times) / min(times) > 1.5:
        (axes.set_ylim if is_upright else axes.set_xlim)(0, 1.14 * max(times))
    axis.set_major_formatter(FuncFormatter(lambda t, _: words.tick(t)))
    axes.grid(axis="y" if is_upright else "x", color="#EEEEEE", lw=0.8)
    axes.set_axisbelow(True)
