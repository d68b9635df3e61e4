"""A picture as SVG: what stands where, in units of its view box, and the template that draws it."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from cputrain.report import lettering, templates
from cputrain.report.lettering import Box

WIDE = 720.0
TITLE, SMALL, TICK, LABEL, NOTE = 15.0, 11.0, 12.0, 10.5, 10.5
"""Sizes of the fonts of a picture's texts."""

LEGEND, LEGEND_HIGH = 36, 16
"""Where the legend's first row stands, and the height of one."""

Sign = Literal["dot", "diamond", "hollow", "square", "left", "right"]


@dataclass(frozen=True)
class Tick:
    """A place on an axis, and what stands there."""

    place: float
    label: str


@dataclass(frozen=True)
class Mark:
    """One point.

    Attributes:
        color: class of its colour in `colors.css.j2` or `plot.svg.j2`.
        ends: of its interval, along the axis of time; None without one.
    """

    x: float
    y: float
    sign: Sign
    color: str
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class PointLabel:
    """A text beside a point, which stands on `y` and has its middle at `x`."""

    x: float
    y: float
    text: str
    color: str

    @property
    def box(self) -> Box:
        """Its room."""
        return lettering.box(self.text, LABEL, self.x, self.y)


@dataclass(frozen=True)
class Line:
    """One series: its name and sign in the legend, and what joins its points.

    Attributes:
        name: None where the legend has none.
    """

    name: str | None
    color: str
    points: Sequence[tuple[float, float]] = ()
    sign: Sign = "dot"

    @property
    def path(self) -> str:
        """The points of an SVG's polyline."""
        return " ".join(f"{x:g},{y:g}" for x, y in self.points)


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes:
        title, machine: at its top, left and right.
        description: what it shows, in a sentence for those who do not see it.
        left, right, top, bottom: the ends of its axes.
        x, y: what stands at the axes.
        x_ticks, y_ticks: along them.
        is_upright: whether the axis of time is y.
        band: from where to where the time counts as the same; None without effects.
        baseline: where the baseline's time lies; None without effects.
        notes: lines below it.
    """

    title: str
    machine: str
    description: str
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x: str
    y: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    is_upright: bool
    band: tuple[float, float] | None = None
    baseline: float | None = None
    lines: Sequence[Line] = ()
    marks: Sequence[Mark] = ()
    point_labels: Sequence[PointLabel] = ()
    notes: Sequence[str] = ()
    wide: float = field(default=WIDE, init=False)

    @property
    def legend(self) -> list[tuple[tuple[float, int], Line]]:
        """Where each named series stands in the rows above the axes."""
        return legend(self.lines, self.left, self.right)


def legend(
    lines: Sequence[Line], left: float, right: float
) -> list[tuple[tuple[float, int], Line]]:
    """Where the names of series stand: a row, and further ones where it is full."""
    places, x, y = [], left + 6, LEGEND
    for line in lines:
        if line.name is None:
            continue
        wide = 26 + lettering.width(line.name, TICK)
        if x > left + 6 and x + wide > right:
            x, y = left + 6, y + LEGEND_HIGH
        places.append(((x, y), line))
        x += wide
    return places


def address(figure: Figure) -> str:
    """The picture as the address of an image, which a page needs no file for."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg(figure)).decode()}"


def svg(figure: Figure) -> bytes:
    """The picture as SVG; equal figures give equal bytes."""
    sizes = {"title": TITLE, "small": SMALL, "tick": TICK, "label": LABEL, "note": NOTE}
    text = templates.html("plot.svg.j2", {"f": figure, "size": sizes})
    # What is no character is in no XML.
    return re.sub(r"[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", text).encode()
