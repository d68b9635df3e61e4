"""One suite's table on the page: its lines, value by value and engine by engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis import by_engine, identical
from cputrain.analysis.ends import CellRow, interval
from cputrain.analysis.ranking import sized
from cputrain.report import words
from cputrain.report.skipped import general
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult


@dataclass(frozen=True)
class Line:
    """One line of a suite's table: a cell, or several without a number for one reason.

    Attributes:
        values: of the variable, as they are called.
        engine: None where the suite's table has no column of engines.
        row: of the first of the cells; its reason is that of all.
        pairs: that count, of how many, and of how many passes; empty without one.
        effect: as text, "baseline" for what it is compared with; empty without one.
        per_token, per_flop: time over the baseline's, for as many tokens or executed FLOPs.
    """

    values: tuple[str, ...]
    engine: str | None
    row: Row
    effect: str = ""
    pairs: str = ""
    per_token: float | None = None
    per_flop: float | None = None


@dataclass(frozen=True)
class SuiteTable:
    """One suite's table.

    Attributes:
        cells: with their rows, in order.
        has_sizes: whether its values are of different sizes, so that there are times per token.
    """

    suite: str
    cells: Sequence[CellRow]
    has_sizes: bool = False

    @property
    def variable(self) -> str:
        """What is varied."""
        return by_engine.variable(self.cells[0][0])

    @property
    def engines(self) -> list[str]:
        """The engines that its cells are of; empty where the table needs no column of them."""
        return by_engine.engines(cell for cell, _ in self.cells)

    @property
    def is_paired(self) -> bool:
        """Whether its cells are measured beside a baseline."""
        return any(cell.key.baseline is not None for cell, _ in self.cells)

    def lines(self) -> list[Line]:
        """Its lines: value by value, in each engine by engine.

        Neighbours of one engine without a number and for one reason are one line.
        """
        lines: list[Line] = []
        scales = sized(self.cells) if self.has_sizes else {}
        last: dict[str | None, tuple[int, tuple[str, str]]] = {}
        for cell, row in self.cells:
            engine, value = by_engine.engine(cell), by_engine.setting(cell)
            same = row["status"], general(cell, row)
            index, before = last.get(engine, (-1, ("", "")))
            if row["status"] != "ok" and same == before:
                whole = row | {"reason": same[1]}
                lines[index] = Line((*lines[index].values, value), engine, whole)
            else:
                last[engine] = len(lines), same
                size, effect = scales.get(cell.name), 1.0 if cell.is_baseline else row["effect"]
                per: tuple[float | None, float | None] = None, None
                if size is not None and effect is not None:
                    per = (effect / size.tokens, effect / size.flops)
                lines.append(Line((value,), engine, row, _effect(cell, row), _pairs(row), *per))
        return lines


def _pairs(row: Row) -> str:
    """ "30 (3)", "28 of 30 (3)"."""
    if not row["pairs"]:
        return ""
    others = row["dropped_pairs"] + row["elsewhere_pairs"]
    every = f" of {row['pairs'] + others}" if others else ""
    return f"{row['pairs']}{every} ({row['passes']})"


def _effect(cell: CellResult, row: Row) -> str:
    """A cell's effect with its interval; that of an A/A suite's baseline too."""
    if not cell.ok:
        return ""
    if cell.is_baseline and cell.suite != identical.SUITE:
        return "baseline"
    return words.effect(row["effect"], *interval(row))
