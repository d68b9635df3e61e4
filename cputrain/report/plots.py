"""One SVG per suite: effect against value, with interval, baseline and what counts as the same.

A suite without effects shows seconds.

A suite that has the engine as its second parameter has one line of points for each engine.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.atomic import write_bytes
from cputrain.report import as_svg, points, ticks, words
from cputrain.report.picture import Picture, short
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult
from cputrain.wording import one_line

QUIET = "#555555"
LONGEST_NOTE = 110
"""Signs of a line below the picture that it has room for."""
NAMED_FAILURES = 4
STYLE = {
    "text.parse_math": False,  # a name with a dollar sign is no formula
    **as_svg.STYLE,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "axes.labelcolor": "#222222",
}


def draw_all(folder: Path, rows: Sequence[Row], cells: Sequence[CellResult]) -> dict[str, Path]:
    """Write folder/<suite>.svg for every suite of one machine that has a number; their paths."""
    drawn = {}
    for suite in dict.fromkeys(cell.suite for cell in cells if cell.ok):
        places = [i for i, cell in enumerate(cells) if cell.suite == suite]
        picture = Picture([rows[i] for i in places], [cells[i] for i in places])
        drawn[suite] = folder / f"{suite}.svg"
        write_bytes(drawn[suite], svg(picture))
    return drawn


def svg(picture: Picture) -> bytes:
    """The picture as SVG; equal pictures give equal bytes."""
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        return as_svg.written(figure(picture))


def figure(picture: Picture) -> Figure:
    """The picture as a matplotlib figure."""
    row_height = 0.34 if len(picture.series) == 1 else 0.18 * len(picture.series) + 0.08
    height = 3.4 if picture.is_numeric else 1.5 + row_height * len(picture.labels)
    whole = Figure(figsize=(7.2, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(whole)
    axes = whole.add_subplot()
    first = picture.cells[0]
    axes.set_title(short(first.suite), loc="left", fontweight="bold", fontsize=11)
    axes.set_title(short(first.machine), loc="right", fontsize=8, color=QUIET)
    whole.supxlabel(_note(picture), fontsize=7.5, color=QUIET, x=0.99, ha="right")
    effects = points.draw(axes, picture)
    if picture.has_engines:
        axes.legend(fontsize=8, frameon=False, labelcolor="#222222")
    points.scale_axis(axes, picture)
    time = axes.yaxis if picture.is_numeric else axes.xaxis
    ticks.round_places(whole, time)
    if picture.is_numeric:
        ticks.thin(whole, axes.xaxis)
    ticks.thin_annotations(whole, effects)
    return whole


def _note(picture: Picture) -> str:
    """What stands below the picture: what its signs mean, and which cells it lacks."""
    note = []
    if picture.is_paired:
        whose = "the engine's baseline" if picture.has_engines else "baseline"
        note.append(f"diamond: {whose}, grey: the same within {words.percent(SAME_WITHIN - 1)}")
    missing = [f"{short(c.value)} ({why})" for c, why in picture.missing if c.mode]
    if missing:
        more = len(missing) - NAMED_FAILURES
        rest = f" and {more} more" if more > 0 else ""
        note.append("not shown: " + ", ".join(missing[:NAMED_FAILURES]) + rest)
    return textwrap.fill(one_line("; ".join(note)), LONGEST_NOTE)
