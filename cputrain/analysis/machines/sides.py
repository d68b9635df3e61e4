"""What one machine says of some cells: their mean step time, and how well that is known.

Variances are of logarithms, and come with their degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cputrain.analysis.ends import CellRow
from cputrain.analysis.machines.machine import Machine
from cputrain.analysis.machines.usual import Reference
from cputrain.analysis.machines.wander import Wander


@dataclass(frozen=True)
class Side:
    """What one machine says.

    Attributes:
        log_s: mean logarithm of a step.
        drift: variances of how well its usual speed is known, with their degrees of freedom; None
            where too few moments tell one.
        effects: variance of its effects; None where one of them has no interval.
        spread: about the variance of all of it, for weights (`_spread`); None where one lacks.
    """

    name: str
    log_s: float
    drift: list[tuple[float | None, float]]
    effects: float | None
    spread: float | None


def side(machine: Machine, cells: Sequence[CellRow], weights: Sequence[float]) -> Side:
    """One machine's.

    A reference is off by the same in all cells that were measured beside it. A cell without a pair
    that counts is as it was measured, at any speed that the machine had. What one reference's
    moments tell of several is one estimate, and may be of the same minutes: their shares add up.

    Args:
        weights: of the cells, 1 in all.
    """
    total, effects = 0.0, 0.0
    has_intervals = True
    shares: dict[str, float] = {}
    at_any_speed = 0.0
    for (cell, row), weight in zip(cells, weights, strict=True):
        usual = machine.references.usual(cell, row)
        if usual is None:
            total += weight * math.log(cell.step_s or 1.0)
            at_any_speed += weight
            continue
        total += weight * usual.log_s
        if usual.variance is None:
            has_intervals = False
        else:
            effects += weight**2 * usual.variance
        shares[usual.reference] = shares.get(usual.reference, 0.0) + weight
    parts = [(share, machine.references.by_name[name]) for name, share in shares.items()]
    if at_any_speed:
        parts.append((at_any_speed, machine.references.at_any_speed))
    known = effects if has_intervals else None
    spread = _spread(machine.references.wander, parts, known)
    return Side(machine.name, total, _drift(parts), known, spread)


def _drift(parts: Iterable[tuple[float, Reference]]) -> list[tuple[float | None, float]]:
    """Variances of several references' usual speeds, each with its share of the mean."""
    known: dict[Wander | None, tuple[float, float]] = {}
    for share, reference in parts:
        if reference.variance is None:
            return [(None, 1.0)]
        sd, _ = known.get(reference.wander, (0.0, 1.0))
        sd += share * math.sqrt(reference.variance)
        known[reference.wander] = sd, reference.degrees
    return [(sd**2, degrees) for sd, degrees in known.values()]


def _spread(
    wander: Wander | None, parts: Sequence[tuple[float, Reference]], effects: float | None
) -> float | None:
    """What these cells are to be weighed by.

    Of few moments it is chance how near to each other they lie: weights by a reference's own
    variance would prefer those that look surer than they are, and intervals would be too narrow.
    Its variance here is the one that so many independent moments leave where each reference
    wanders as the one with most moments.
    """
    if wander is None or effects is None or any(its.variance is None for _, its in parts):
        return None
    apart = math.fsum(share / math.sqrt(its.independent) for share, its in parts)
    return (wander.log_sd * apart) ** 2 + effects
