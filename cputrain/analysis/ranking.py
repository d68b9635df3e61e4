"""The suites of one machine by how surely they matter: settings, other trainings, and sizes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cputrain.analysis import by_engine, identical, work
from cputrain.analysis.ends import CellRow, Measured, is_confirmed, measured
from cputrain.analysis.work import Scale
from cputrain.experiment.same_work import is_unchanged

Kind = Literal["settings", "trainings", "sizes"]
"""What the values of a suite differ in: in how the same is trained; in what is trained, with as
many tokens and, by the usual formula, as many FLOPs; in these."""


@dataclass(frozen=True)
class Ranked:
    """One suite on one machine, of one engine where it has several.

    Attributes:
        engine: None where it is no parameter of the suite.
        fastest, slowest: the smallest and the largest effect among its values.
        is_confirmed: whether the first pass alone names the fastest value, and the passes after it,
            which did not choose it, call it faster too.
        surely: how far some value is from 1 at least: the end of an interval, in logarithms.
        kind: what its values differ in.
        per_token, per_flop: smallest and largest time per token, and per executed FLOP, over the
            baseline's; None unless values are sizes.
        exponent: k of time ~ size^k; None where values are no sizes, or too few.
        others: the suite's other engines, in their order.
    """

    suite: str
    engine: str | None
    fastest: Measured
    slowest: Measured
    is_confirmed: bool
    surely: float
    kind: Kind
    per_token: tuple[float, float] | None
    per_flop: tuple[float, float] | None
    exponent: float | None
    others: tuple[Ranked, ...] = ()


def rank(cells: Iterable[CellRow]) -> list[Ranked]:
    """The suites in which something was measured beside its baseline.

    First those with the interval that is furthest from 1, then by the effects. A suite with several
    engines takes the place of its first one: an engine's values are compared with its own baseline.
    What ran beside another release than the baseline's row is of is left out.

    Args:
        cells: of one machine, with their rows.
    """
    every = list(cells)
    by_name = {cell.name: cell for cell, _ in every}
    by_suite: dict[str, dict[str | None, list[CellRow]]] = {}
    for cell, row in every:
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        if cell.suite != identical.SUITE and not identical.is_beside_other_release(cell, base):
            engines = by_suite.setdefault(cell.suite, {})
            engines.setdefault(by_engine.engine(cell), []).append((cell, row))
    ranked = []
    for suite, engines in by_suite.items():
        tried = [_ranked(suite, name, pairs) for name, pairs in engines.items()]
        lines = [line for line in tried if line is not None]
        if lines:
            ranked.append(dataclasses.replace(lines[0], others=tuple(lines[1:])))
    return sorted(ranked, key=_order)


def _order(line: Ranked) -> tuple[float, float]:
    apart = (abs(math.log(end.effect)) for end in (line.fastest, line.slowest))
    return -line.surely, -max(apart)


def _ranked(suite: str, engine: str | None, cells: Sequence[CellRow]) -> Ranked | None:
    """One engine's line; None without a value that was measured beside the baseline."""
    known = [entry for cell, row in cells if (entry := measured(cell, row)) is not None]
    if all(entry.cell.is_baseline for entry in known):
        return None
    scales = sized(cells)
    ratios = [
        (entry.effect, scales[entry.cell.name]) for entry in known if entry.cell.name in scales
    ]
    kind = _kind(known, cells, all(size.is_same for _, size in ratios))
    is_same = kind != "sizes"
    tokens = [effect / size.tokens for effect, size in ratios]
    flops = [effect / size.flops for effect, size in ratios]
    fastest = min(known, key=_effect)
    return Ranked(
        suite=suite,
        engine=engine,
        fastest=fastest,
        slowest=max(known, key=_effect),
        is_confirmed=is_confirmed(fastest, known),
        surely=max(entry.surely for entry in known),
        kind=kind,
        per_token=None if is_same else (min(tokens), max(tokens)),
        per_flop=None if is_same else (min(flops), max(flops)),
        exponent=None if is_same else work.exponent(known),
    )


def _kind(known: Sequence[Measured], cells: Sequence[CellRow], is_same_size: bool) -> Kind:
    """Of the values that have a number."""
    if not is_same_size:
        return "sizes"
    base = next((cell.experiment for cell, _ in cells if cell.is_baseline), None)
    trained = (entry.cell.experiment for entry in known)
    same = base is not None and all(is_unchanged(its, base) for its in trained)
    return "settings" if same else "trainings"


def sized(cells: Sequence[CellRow]) -> dict[str, Scale]:
    """By name, the size of each cell beside its baseline's, where both are known."""
    by_value = {cell.value: cell for cell, _ in cells}
    sizes = {
        cell.name: work.scale(cell, by_value.get(cell.key.baseline or "")) for cell, _ in cells
    }
    return {name: size for name, size in sizes.items() if size is not None}


def _effect(entry: Measured) -> float:
    return entry.effect
