"""What one plot shows: a suite's cells by engine, as effects or as seconds where it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cputrain.analysis import by_engine
from cputrain.analysis.ends import CellRow, Measured, measured
from cputrain.engines import specs
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult
from cputrain.wording import one_line

COLORS = ("e0", "e1", "e2", "e3", "e4", "e5")
"""Classes of the colours in `colors.css.j2`, in their order, the first again after the last: of
Okabe & Ito (2008), told apart by the colour-blind too, and lighter ones on dark paper."""
LONGEST_NAME = 40
"""Signs of a name that the picture has room for."""
ROOM = 0.7
"""Of a row's height, what its engines share."""


@dataclass(frozen=True)
class Series:
    """The cells of one engine that are shown, in their order.

    Attributes:
        engine: None where a suite has no engines beside its variable.
        offset: where its points stand within a row of a picture with labels, in rows.
    """

    engine: str | None
    color: str
    offset: float
    cells: Sequence[Measured]

    @property
    def name(self) -> str | None:
        """The engine, for the legend."""
        return self.engine and short(self.engine)


@dataclass(frozen=True)
class Picture:
    """What one plot shows: the rows and cells of one suite, in order."""

    rows: Sequence[Row]
    cells: Sequence[CellResult]

    @cached_property
    def is_paired(self) -> bool:
        """Whether it shows effects: something was measured beside the baseline."""
        return any(not point.cell.is_baseline for point in self._measured)

    @cached_property
    def shown(self) -> list[Measured]:
        """The cells that have an effect; where none has, those with a number, by their seconds."""
        if self.is_paired:
            return self._measured
        return [Measured(c, r, r["step_s"], None, None) for c, r in self._pairs if c.ok]

    @property
    def _measured(self) -> list[Measured]:
        return [point for cell, row in self._pairs if (point := measured(cell, row)) is not None]

    @property
    def _pairs(self) -> list[CellRow]:
        return list(zip(self.cells, self.rows, strict=True))

    @property
    def missing(self) -> list[tuple[CellResult, str]]:
        """The cells that are not shown, and what they are instead."""
        there = {point.cell.value for point in self.shown}
        gone = [cell for cell in self.cells if cell.value not in there]
        return [(cell, "no effect" if cell.ok else cell.status) for cell in gone]

    @property
    def series(self) -> list[Series]:
        """The cells that are shown, by engine; a color belongs to an engine, run or not."""
        names: Sequence[str | None] = by_engine.engines(self.cells) or [None]
        series = []
        for i, name in enumerate(names):
            cells = [point for point in self.shown if by_engine.engine(point.cell) == name]
            offset = (i - (len(names) - 1) / 2) * ROOM / len(names)
            if cells:
                series.append(Series(name, color(name, i), offset, cells))
        return series

    @property
    def labels(self) -> list[str]:
        """The values that are shown, as they are called."""
        return list(dict.fromkeys(by_engine.setting(point.cell) for point in self.shown))

    @property
    def has_engines(self) -> bool:
        """Whether the engine is a parameter beside the variable."""
        return bool(by_engine.engines(self.cells))

    def is_lowest_of_several(self, point: Measured) -> bool:
        """Whether other engines have the same value, and all lie above: its words go below."""
        place = by_engine.settings(point.cell)
        same = [other.effect for other in self.shown if by_engine.settings(other.cell) == place]
        return len(same) > 1 and point.effect == min(same)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether values are points on an axis: one variable, numbers, two of them at least."""
        values = [by_engine.settings(cell) for cell in self.cells if cell.values]
        numbers = all(len(v) == 1 and type(v[0]) in (int, float) for v in values)
        return numbers and len({by_engine.settings(point.cell) for point in self.shown}) > 1


def color(engine: str | None, place: int) -> str:
    """The class of an engine's colour, which is the same in all pictures.

    Args:
        engine: None where a picture has no engines.
        place: in its picture, from 0; of one that this version does not know.
    """
    if engine is None:
        return COLORS[0]
    number = specs.NAMES.index(engine) if engine in specs.NAMES else -1 - place
    return COLORS[number % len(COLORS)]


def short(text: str) -> str:
    """A name in one line, cut off where it is longer than the picture has room for."""
    plain = one_line(text)
    return plain if len(plain) <= LONGEST_NAME else plain[: LONGEST_NAME - 3] + "..."
