"""Settings that pay on one machine and not on the other: by paired effects, which drift is not in.

A setting trains what its baseline trains (`analysis.unchanged`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.ends import CellRow, Measured, measured
from cputrain.analysis.machines.equal import Equal
from cputrain.analysis.unchanged import settings

TOLD = ("faster", "slower", "same")


@dataclass(frozen=True)
class Paying:
    """One setting whose effects differ.

    Attributes:
        equal: the cell on both machines.
        first, other: its effect on each, beside the baseline there.
        verdicts: what is said of it on each.
    """

    equal: Equal
    first: Measured
    other: Measured
    verdicts: tuple[str, str]

    @property
    def pays(self) -> str:
        """Where it makes training faster: "first", "other", "both", "neither"."""
        on = [verdict == "faster" for verdict in self.verdicts]
        if all(on):
            return "both"
        return "first" if on[0] else "other" if on[1] else "neither"

    @property
    def apart(self) -> float:
        """How far the effects are apart, in logarithms."""
        return abs(math.log(self.first.effect / self.other.effect))


def paying(
    first: Sequence[CellRow], other: Sequence[CellRow], equal: Sequence[Equal]
) -> list[Paying]:
    """Settings whose verdict differs, where both are told, or whose 99 % intervals do not overlap.

    First those that pay on one machine alone, then by how far the effects are apart.
    """
    same_work = [{s.cell.name for s in settings(cells)} for cells in (first, other)]
    differing = []
    for pair in equal:
        name = pair.first[0].name
        ends = measured(*pair.first), measured(*pair.other)
        if pair.repeats or not all(name in names for names in same_work) or None in ends:
            continue
        on_first, on_other = ends
        assert on_first is not None and on_other is not None
        words = (str(pair.first[1]["verdict"]), str(pair.other[1]["verdict"]))
        if _differ(words) or _apart(on_first, on_other):
            differing.append(Paying(pair, on_first, on_other, words))
    return sorted(differing, key=lambda its: (its.pays not in ("first", "other"), -its.apart))


def _differ(verdicts: tuple[str, str]) -> bool:
    return verdicts[0] != verdicts[1] and all(verdict in TOLD for verdict in verdicts)


def _apart(first: Measured, other: Measured) -> bool:
    """Whether the intervals do not overlap."""
    if first.low is None or first.high is None or other.low is None or other.high is None:
        return False
    return first.high < other.low or other.high < first.low
