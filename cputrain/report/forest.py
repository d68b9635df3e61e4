"""The picture of the first screen: settings at unchanged work, each effect with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain.analysis.paired.verdict import SAME_WITHIN
from cputrain.atomic import write_made
from cputrain.report import figure, lettering, ticks, words
from cputrain.report.charts import Scale
from cputrain.report.figure import TICK, WIDE, Figure, Mark, Sign, Tick
from cputrain.report.picture import short

SIGNS: dict[str, Sign] = {"faster": "left", "slower": "right", "same": "square"}
"""The sign says the same as the colour; a hollow one was not told."""
MEANS = {
    "faster": "blue: faster",
    "slower": "orange: slower",
    "same": f"grey square: the same within {100 * (SAME_WITHIN - 1):.0f} %",
    "not told": "hollow circle: not told",
}
MOST_BARS = 24
ROW_HIGH, TOP = 24.0, 32.0
ACROSS = "time of a step over the baseline's, 99 % interval (left is faster)"


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
    ranks = {"faster": 0, "slower": 0, "same": 1}
    order = sorted(bars, key=lambda bar: (ranks.get(bar.verdict, 2), -bar.surely))
    return sorted(order[:MOST_BARS], key=lambda bar: bar.effect)


def caption(bars: Sequence[Bar]) -> str:
    """What the signs in the picture mean, and how many bars it has no room for; at least one."""
    shown = Counter(_word(bar) for bar in telling(bars))
    left_out = Counter(_word(bar) for bar in bars) - shown
    means = ", ".join(text for word, text in MEANS.items() if shown[word]).capitalize()
    more = "; ".join(f"{left_out[word]} more, {word}" for word in MEANS if left_out[word])
    return f"{means}. Left out: {more}." if more else f"{means}."


def write(path: Path, machine: str, bars: Sequence[Bar]) -> Path:
    """Write the picture as SVG; equal bars give equal bytes."""
    write_made(path, figure.svg(draw(machine, bars)))
    return path


def draw(machine: str, bars: Sequence[Bar]) -> Figure:
    """What stands where in the picture."""
    shown = telling(bars)
    labels = [_label(bar) for bar in shown]
    left = 14 + max((lettering.width(label, TICK) for label in labels), default=0.0)
    bottom, scale = TOP + ROW_HIGH * (len(shown) + 0.3), _scale(shown, left, WIDE - 14)
    rows = [round(TOP + ROW_HIGH * (i + 0.65), 1) for i in range(len(shown))]
    marks = [_mark(bar, row, scale) for bar, row in zip(shown, rows, strict=True)]
    band = scale.place(1 / SAME_WITHIN), scale.place(SAME_WITHIN)
    return Figure(
        title="Settings at unchanged work",
        machine=short(machine),
        description=f"{ACROSS}: {', '.join(labels)}",
        height=round(bottom + 44, 1),
        left=round(left, 1),
        right=WIDE - 14,
        top=TOP,
        bottom=round(bottom, 1),
        x=ACROSS,
        y="",
        x_ticks=ticks.of_time(scale, lambda value: f"{value:g}x", is_upright=False),
        y_ticks=[Tick(row, label) for row, label in zip(rows, labels, strict=True)],
        is_upright=False,
        band=band,
        baseline=scale.place(1.0),
        marks=marks,
    )


def _word(bar: Bar) -> str:
    return bar.verdict if bar.verdict in SIGNS else "not told"


def _mark(bar: Bar, row: float, scale: Scale) -> Mark:
    color = bar.verdict if bar.verdict in SIGNS else "open"
    ends = scale.place(bar.low), scale.place(bar.high)
    return Mark(scale.place(bar.effect), row, SIGNS.get(bar.verdict, "hollow"), color, ends)


def _label(bar: Bar) -> str:
    return f"{short(bar.label)}: {words.effect(bar.effect)}"


def _scale(bars: Sequence[Bar], start: float, end: float) -> Scale:
    low = min((bar.low for bar in bars), default=0.9)
    high = max((bar.high for bar in bars), default=1.1)
    return Scale(min(low, 0.9) / 1.06, max(high, 1.1) * 1.06, start, end)
