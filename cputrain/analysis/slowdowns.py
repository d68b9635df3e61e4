"""How much longer steps take where the CPUs lie elsewhere, and what an effect may differ by then.

An effect at one place is that at another one times what the cell's steps take longer there, over
what its reference's do. The second is known of references that ran at both places.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cputrain.analysis import identical
from cputrain.analysis.places import Place, Places
from cputrain.results.rows import CellResult

FEWEST = 3
"""Pairs at a place from which it is told what was measured there."""
MOST = 1.6
"""How many times as long a step takes far apart at most: of references 1.53x was seen, of cells
1.62x by few pairs (docs/figures/places.md)."""
MOST_ON_ONE_CORE = 2.0
"""The same of two CPUs that are one core: its two threads have no more than half of it each."""
UNEVEN = 1.1
"""What `Slowdowns.steps` may be off by: the places are of different minutes. And no cell was seen
to take less than 0.94 of its time where references take longer."""


@dataclass(frozen=True)
class Reference:
    """What runs beside the cells of a suite: engine, and identity of the experiment."""

    engine: str
    identity: str


@dataclass(frozen=True)
class Slowdowns:
    """What a machine's places make of steps.

    Attributes:
        usual: the place that cells are judged by; None where nothing is known.
        steps: by place but the usual one, the steps of each reference there over those at the
            usual one: medians.
    """

    usual: Place | None = None
    steps: Mapping[Place, Mapping[Reference, float]] = field(default_factory=dict)

    def by_engine(self, place: Place) -> dict[str, float]:
        """The median of each engine's references, in the order of its name."""
        ratios: dict[str, list[float]] = {}
        for reference, ratio in self.steps.get(place, {}).items():
            ratios.setdefault(reference.engine, []).append(ratio)
        return {engine: statistics.median(its) for engine, its in sorted(ratios.items())}

    def of_effect(self, place: Place, reference: Reference | None) -> float:
        """Ratio by which an effect measured at `place` may differ from that at the usual one.

        A cell that takes as long everywhere differs by all that its reference slows down, one
        that slows down the most by what is left of that. Of a reference that was not at both
        places, that of others of its engine is taken, which slow down more and less.

        Args:
            place: another one than the usual.
            reference: beside the cell, of the cell's engine; None where that is not known, or of
                another engine.
        """
        most = MOST_ON_ONE_CORE if "one core" in (place, self.usual) else MOST
        if reference is None:
            return most
        known = self.steps.get(place, {})
        alike = [ratio for its, ratio in known.items() if its.engine == reference.engine]
        ratios = [known[reference]] if reference in known else alike
        slower = [max(ratio, 1 / ratio) for ratio in ratios]
        return max(UNEVEN * max(slower), most / min(slower)) if slower else most


def references(cells: Iterable[CellResult]) -> dict[str, Reference]:
    """By name, what ran beside each cell whose suite has a baseline, of the release of its row."""
    by_name = {cell.name: cell for cell in cells}
    known = {}
    for name, cell in by_name.items():
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        if base is None or identical.is_beside_other_release(cell, base):
            continue
        if base.workers and (engine := identical.engine(base)) is not None:
            known[name] = Reference(engine, base.workers[-1].identity)
    return known


def own(cell: CellResult, beside: Mapping[str, Reference]) -> Reference | None:
    """What ran beside a cell, where it has the cell's engine; None else.

    Args:
        beside: `references` of the machine.
    """
    reference = beside.get(cell.name)
    same = reference is not None and reference.engine == identical.engine(cell)
    return reference if same else None


def learn(cells: Sequence[CellResult], at: Places) -> Slowdowns:
    """What the references of a machine's cells took at each place.

    Args:
        cells: of one machine.
        at: its places.
    """
    beside = references(cells)
    steps: dict[Reference, dict[Place, list[float]]] = {}
    seen = set()
    for cell in cells:
        if cell.name not in beside:
            continue
        for worker in cell.workers:
            ran = identical.what_ran(worker)
            if ran not in seen:
                seen.add(ran)
                for pair, place in at.told(worker):
                    its = steps.setdefault(beside[cell.name], {}).setdefault(place, [])
                    its.append(pair.reference.median_s)
    ratios: dict[Place, dict[Reference, float]] = {}
    for reference, by_place in steps.items():
        usual = by_place.get(at.usual, []) if at.usual else []
        for place, there in by_place.items():
            if place != at.usual and min(len(usual), len(there)) >= FEWEST:
                ratio = statistics.median(there) / statistics.median(usual)
                ratios.setdefault(place, {})[reference] = ratio
    return Slowdowns(at.usual, ratios)
