"""The places of an axis that have a label: as many as stand apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from cputrain.report import lettering
from cputrain.report.charts import Scale
from cputrain.report.figure import TICK, Tick

LOGARITHMIC: tuple[tuple[float, ...], ...] = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
"""Places in a decade, the densest first."""
LINEAR = (8, 6, 5, 4, 3, 2)
"""Intervals of a linear axis, the most first."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def of_time(scale: Scale, say: Callable[[float], str], is_upright: bool) -> list[Tick]:
    """The most round places of an axis whose labels stand apart, and two of them at least.

    Args:
        scale: the axis.
        say: a value as its label.
        is_upright: whether the axis goes up.
    """
    ticks: list[Tick] = []
    for values in _round(scale):
        ticks = [Tick(scale.place(value), say(value)) for value in values]
        if len(ticks) > 1 and len(_apart(ticks, is_upright)) == len(ticks):
            return ticks
    return thinned(ticks, is_upright)


def thinned(ticks: Sequence[Tick], is_upright: bool) -> list[Tick]:
    """Those whose labels do not lie on one before."""
    return [ticks[i] for i in _apart(ticks, is_upright)]


def _round(scale: Scale) -> Iterator[list[float]]:
    """Round values within a scale, the most first."""
    if scale.is_log:
        first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
        for digits in LOGARITHMIC:
            every = [d * 10.0**power for power in range(first, last + 1) for d in digits]
            yield [value for value in every if scale.low <= value <= scale.high]
        return
    span = scale.high - scale.low
    for count in LINEAR:
        power = 10.0 ** math.floor(math.log10(span / count))
        step = next(s * power for s in STEPS if s * power >= span / count * (1 - 1e-9))
        first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
        yield [i * step for i in range(first, last + 1)]


def _apart(ticks: Sequence[Tick], is_upright: bool) -> list[int]:
    boxes = [
        lettering.box(tick.label, TICK, 0.0, tick.place)
        if is_upright
        else lettering.box(tick.label, TICK, tick.place, 0.0)
        for tick in ticks
    ]
    return lettering.apart(boxes)
