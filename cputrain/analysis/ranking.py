"""The suites in the order of how much their values change the step time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cputrain.results.columns import Row


@dataclass(frozen=True)
class Ranked:
    """One suite on one machine.

    Attributes:
        ratio: slowest over fastest step time among its values.
        per_token: the same of the time per token, where values differ in tokens per step.
        above_noise: whether some value stands above the noise floor; None if unknown.
    """

    suite: str
    ratio: float
    fastest: Row
    slowest: Row
    per_token: float | None
    above_noise: bool | None


def rank(rows: Iterable[Row]) -> list[Ranked]:
    """The suites with two values or more that ran, the largest ratio first.

    Args:
        rows: of one machine.
    """
    by_suite: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "ok":
            by_suite.setdefault(row["suite"], []).append(row)
    ranked = [_one(suite, mine) for suite, mine in by_suite.items() if len(mine) > 1]
    return sorted(ranked, key=lambda one: one.ratio, reverse=True)


def _one(suite: str, rows: list[Row]) -> Ranked:
    fastest = min(rows, key=lambda row: float(row["step_s"]))
    slowest = max(rows, key=lambda row: float(row["step_s"]))
    rates = [row["tokens_per_s"] for row in rows if row["tokens_per_s"]]
    sizes = {round(row["tokens_per_s"] * row["step_s"]) for row in rows if row["tokens_per_s"]}
    known = [row["above_noise"] for row in rows if row["above_noise"] is not None]
    return Ranked(
        suite=suite,
        ratio=slowest["step_s"] / fastest["step_s"],
        fastest=fastest,
        slowest=slowest,
        per_token=max(rates) / min(rates) if len(sizes) > 1 else None,
        above_noise=any(known) if known else None,
    )
