"""The places of an axis that have a label: as many as stand apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from cputrain.report import lettering
from cputrain.report.charts import Scale
from cputrain.report.figure import TICK, Tick

LOGARITHMIC = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
"""Places in a decade, the densest first; an axis on which few of them lie has linear ones."""
FEWEST = 3
LINEAR = (8, 6, 5, 4, 3, 2)
"""Intervals of a linear axis, the most first."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def of_time(
    scale: Scale, say: Callable[[float], str], is_upright: bool, size: float = TICK
) -> list[Tick]:
    """The most round places of an axis whose labels stand apart, and two of them at least.

    Args:
        scale: the axis.
        say: a value as its label.
        is_upright: whether the axis goes up.
        size: of the labels' font.
    """
    ticks: list[Tick] = []
    for values in _round(scale):
        ticks = [Tick(scale.place(value), say(value)) for value in values]
        if len(ticks) > 1 and len(_apart(ticks, is_upright, size)) == len(ticks):
            return ticks
    return [ticks[i] for i in _apart(ticks, is_upright, size)]


def of_values(scale: Scale, values: Iterable[float], size: float = TICK) -> list[Tick]:
    """The values themselves on an axis that goes across, but those whose labels lie on another."""
    ticks = [Tick(scale.place(value), f"{value:g}") for value in sorted(set(values))]
    return [ticks[i] for i in _apart(ticks, is_upright=False, size=size)]


def _round(scale: Scale) -> Iterator[list[float]]:
    """Round values within a scale, the most first."""
    if scale.is_log:
        first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
        for digits in LOGARITHMIC:
            every = [d * 10.0**power for power in range(first, last + 1) for d in digits]
            values = [value for value in every if scale.low <= value <= scale.high]
            if len(values) >= FEWEST:
                yield values
    span = scale.high - scale.low
    for count in LINEAR:
        power = 10.0 ** math.floor(math.log10(span / count))
        step = next(s * power for s in STEPS if s * power >= span / count * (1 - 1e-9))
        first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
        yield [i * step for i in range(first, last + 1)]


def _apart(ticks: Sequence[Tick], is_upright: bool, size: float) -> list[int]:
    boxes = [
        lettering.box(tick.label, size, 0.0, tick.place)
        if is_upright
        else lettering.box(tick.label, size, tick.place, 0.0)
        for tick in ticks
    ]
    return lettering.apart(boxes)
