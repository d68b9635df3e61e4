"""Labels of a figure that would lie on one another are thinned out, by the room that they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.axis import Axis, Tick
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator, Locator, LogLocator, MaxNLocator, NullLocator

GAP = 4.0
"""Pixels between two labels at least."""
LOGARITHMIC: tuple[tuple[float, ...], ...] = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
"""Places in a decade, the densest first."""
LINEAR = (8, 6, 5, 4, 3, 2)
"""Intervals of a linear axis, the most first."""


def round_places(figure: Figure, axis: Axis) -> None:
    """Give the axis the most round places whose labels stand apart."""
    axis.set_minor_locator(NullLocator())
    for locator in _locators(axis.get_scale() == "log"):
        axis.set_major_locator(locator)
        figure.draw_without_rendering()
        labels = [tick.label1 for tick in ticks(axis)]
        if len(labels) > 1 and len(_apart(labels)) == len(labels):
            return
    thin(figure, axis)


def thin(figure: Figure, axis: Axis) -> None:
    """Take away the places whose labels would lie on those before."""
    figure.draw_without_rendering()
    shown = ticks(axis)
    kept = _apart([tick.label1 for tick in shown])
    axis.set_major_locator(FixedLocator([float(shown[i].get_loc()) for i in kept]))


def ticks(axis: Axis) -> list[Tick]:
    """The ticks within the axis's view, in their order, of a figure that was drawn."""
    low, high = sorted(axis.get_view_interval())
    inside = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return sorted(inside, key=lambda tick: float(tick.get_loc()))


def thin_annotations(figure: Figure, annotations: Sequence[Annotation]) -> None:
    """Take away each annotation that would lie on an earlier one."""
    figure.draw_without_rendering()
    kept = set(_apart(annotations))
    for i, annotation in enumerate(annotations):
        if i not in kept:
            annotation.remove()


def _locators(is_log: bool) -> Iterator[Locator]:
    if is_log:
        yield from (LogLocator(subs=places) for places in LOGARITHMIC)
    else:
        yield from (MaxNLocator(count, steps=(1, 2, 2.5, 5, 10)) for count in LINEAR)


def _apart(texts: Sequence[Text]) -> list[int]:
    """Which of them stand apart from all those before that do, by their places in `texts`."""
    boxes = [text.get_window_extent().padded(GAP / 2) for text in texts]
    kept: list[int] = []
    for i, box in enumerate(boxes):
        if not any(box.overlaps(boxes[k]) for k in kept):
            kept.append(i)
    return kept
