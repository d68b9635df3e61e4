"""The picture of the first screen: settings at unchanged work, each effect with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.atomic import write_bytes
from cputrain.report import as_svg, words
from cputrain.report.picture import short
from cputrain.report.plots import STYLE

FASTER, SLOWER, SAME, OPEN = "#0072B2", "#D55E00", "#555555", "#A0A0A0"
"""Blue and vermilion of Okabe & Ito (2008); the sign says the same as the colour."""
SIGNS = {"faster": ("<", FASTER), "slower": (">", SLOWER), "same": ("s", SAME)}
NOT_TOLD = "o", OPEN
BAND = "#E4E4E4"
MOST_BARS = 24
TICKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 3, 5, 10, 20, 50)
INCHES_A_BAR = 0.25


@dataclass(frozen=True)
class Bar:
    """One effect: what was changed, the time over the baseline's, its interval and verdict."""

    label: str
    effect: float
    low: float
    high: float
    verdict: str

    @property
    def surely(self) -> float:
        """What the interval's end nearest to 1 says of the size of the effect; 1 where it has 1."""
        return max(self.low, 1 / self.high, 1.0)


def telling(bars: Sequence[Bar]) -> list[Bar]:
    """As many as there is room for, those that tell most, from the fastest to the slowest."""
    told = {"faster": 0, "slower": 0, "same": 1}
    order = sorted(bars, key=lambda bar: (told.get(bar.verdict, 2), -bar.surely))
    return sorted(order[:MOST_BARS], key=lambda bar: bar.effect)


def write(path: Path, machine: str, bars: Sequence[Bar]) -> Path:
    """Write the picture as SVG; equal bars give equal bytes."""
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        write_bytes(path, as_svg.written(figure(machine, bars)))
    return path


def figure(machine: str, bars: Sequence[Bar]) -> Figure:
    """The picture as a matplotlib figure."""
    shown = telling(bars)
    whole = Figure(
        figsize=(7.6, 1.1 + INCHES_A_BAR * len(shown)), layout="constrained", facecolor="white"
    )
    FigureCanvasAgg(whole)
    axes = whole.add_subplot()
    axes.axvspan(1 / SAME_WITHIN, SAME_WITHIN, color=BAND, lw=0, zorder=0)
    axes.axvline(1.0, color="#222222", lw=0.9, zorder=1)
    for place, bar in enumerate(shown):
        sign, color = SIGNS.get(bar.verdict, NOT_TOLD)
        axes.plot([bar.low, bar.high], [place, place], color=color, lw=1.6, zorder=2)
        hollow = "white" if bar.verdict not in SIGNS else color
        axes.plot([bar.effect], [place], sign, color=color, mfc=hollow, ms=6, zorder=3)
    axes.set_yticks(range(len(shown)), [_label(bar) for bar in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    _scale(axes, shown)
    axes.set_title(short(machine), loc="left", fontsize=9, color="#555555")
    axes.set_xlabel("time of a step over the baseline's, 99 % interval (left is faster)")
    return whole


def _label(bar: Bar) -> str:
    return f"{short(bar.label)}  {words.effect(bar.effect)}"


def _scale(axes: Axes, bars: Sequence[Bar]) -> None:
    axes.set_xscale("log")
    low = min((bar.low for bar in bars), default=0.9)
    high = max((bar.high for bar in bars), default=1.1)
    axes.set_xlim(min(low, 0.9) / 1.06, max(high, 1.1) * 1.06)
    left, right = axes.get_xlim()
    places = [tick for tick in TICKS if left <= tick <= right]
    while len(places) > 9:  # as many as there is room for, 1 among them
        middle = places.index(1)
        places = [tick for i, tick in enumerate(places) if (i - middle) % 2 == 0]
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.grid(axis="x", color="#EEEEEE", lw=0.8)
    axes.set_axisbelow(True)
