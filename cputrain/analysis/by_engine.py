"""Cells of one suite by their engine: an engine is compared with itself.

Where the engine is a parameter beside the variable, a suite is as many sweeps of that variable as
it has engines. Where it is the only parameter, it is the variable itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cputrain import paths
from cputrain.results.rows import CellResult


def engine(cell: CellResult) -> str | None:
    """The engine of a cell; None where it is no parameter beside the variable, or not known."""
    return cell.key.engine


def variable(cell: CellResult) -> str:
    """What its suite varies: the names of its parameters without the engine's."""
    return " x ".join(name for i, name in enumerate(cell.param_names) if i != cell.key.engine_place)


def setting(cell: CellResult) -> str:
    """Its value as it is called, without the engine."""
    return paths.cell_name(settings(cell)) if engine(cell) is not None else cell.value


def settings(cell: CellResult) -> tuple[Any, ...]:
    """Its values without the engine."""
    return tuple(value for i, value in enumerate(cell.values) if i != cell.key.engine_place)


def engines(cells: Iterable[CellResult]) -> list[str]:
    """The engines of a suite's cells, in their order; empty where they are no parameter."""
    return list(dict.fromkeys(name for cell in cells if (name := engine(cell)) is not None))
