"""The suites in the order of how much their values change the step time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cputrain.analysis import by_engine
from cputrain.analysis.disturbed import is_disturbed
from cputrain.results.columns import Row
from cputrain.results.rows import CellResult

CellRow = tuple[CellResult, Row]
"""A cell and its row."""


@dataclass(frozen=True)
class Ranked:
    """One suite on one machine, of one engine where it has several.

    Attributes:
        engine: None where it is no parameter of the suite.
        ratio: slowest over fastest step time among its values.
        fastest, slowest: cells with their rows.
        per_token: the same of the time per token, where values differ in tokens per step.
        above_noise: whether some value stands above the noise floor; None if unknown.
        others: the suite's other engines, in their order.
    """

    suite: str
    engine: str | None
    ratio: float
    fastest: CellRow
    slowest: CellRow
    per_token: float | None
    above_noise: bool | None
    others: tuple[Ranked, ...] = ()

    @property
    def verdict(self) -> str:
        """Whether its values differ by more than the noise, in a word or two."""
        if any(is_disturbed(row) for _, row in (self.fastest, self.slowest)):
            return "disturbed"
        return {None: "not known", True: "yes", False: "no"}[self.above_noise]


def rank(cells: Iterable[CellRow]) -> list[Ranked]:
    """The suites with two values or more that ran, the largest ratio first.

    A suite with several engines takes the place of its first one: the ratio is of one engine's
    values, never of one engine to another.

    Args:
        cells: of one machine.
    """
    by_suite: dict[str, dict[str | None, list[CellRow]]] = {}
    for cell, row in cells:
        if row["status"] == "ok":
            engines = by_suite.setdefault(row["suite"], {})
            engines.setdefault(by_engine.engine(cell), []).append((cell, row))
    ranked = []
    for suite, engines in by_suite.items():
        compared = [_ranked(suite, name, mine) for name, mine in engines.items() if len(mine) > 1]
        if compared:
            ranked.append(dataclasses.replace(compared[0], others=tuple(compared[1:])))
    return sorted(ranked, key=lambda one: one.ratio, reverse=True)


def _ranked(suite: str, engine: str | None, cells: Sequence[CellRow]) -> Ranked:
    fastest = min(cells, key=_step_s)
    slowest = max(cells, key=_step_s)
    rows = [row for _, row in cells]
    known_rates = [row for row in rows if _is_known(row["tokens_per_s"])]
    rates = [row["tokens_per_s"] for row in known_rates]
    sizes = {round(row["tokens_per_s"] * row["step_s"]) for row in known_rates}
    known = [row["above_noise"] for row in rows if row["above_noise"] is not None]
    return Ranked(
        suite=suite,
        engine=engine,
        ratio=_step_s(slowest) / _step_s(fastest),
        fastest=fastest,
        slowest=slowest,
        per_token=max(rates) / min(rates) if len(sizes) > 1 else None,
        above_noise=any(known) if known else None,
    )


def _is_known(rate: float | None) -> bool:
    return rate is not None and 0 < rate < math.inf


def _step_s(cell: CellRow) -> float:
    return float(cell[1]["step_s"])
