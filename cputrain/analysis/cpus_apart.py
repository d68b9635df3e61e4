"""What it was worth where the CPUs lay: steps of references, and effects, by place (`places`)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical, places
from cputrain.analysis.ends import CellRow
from cputrain.analysis.places import Place, Places

FEWEST = 3
"""Pairs of a cell at a place, from which its effect there is told."""
ORDER: tuple[Place, ...] = ("one core", "near", "far")


@dataclass(frozen=True)
class AtPlaces:
    """A cell that was measured at several places.

    Attributes:
        name: suite/cell.
        effects: by place, its time over its reference's, the median over the pairs there.
    """

    name: str
    effects: Mapping[Place, float]

    @property
    def differ(self) -> float:
        """Ratio of the largest effect to the smallest."""
        return max(self.effects.values()) / min(self.effects.values())


@dataclass(frozen=True)
class Apart:
    """A machine whose CPUs were moved.

    Attributes:
        places: where they were; shown: those with enough pairs, `ORDER`.
        slower: by place but the usual one and by engine, the references' steps there over those
            at the usual one; of the same experiments, medians.
        cells: those with pairs at several places, what differs most first.
    """

    places: Places
    shown: tuple[Place, ...]
    slower: Mapping[Place, Mapping[str, float]]
    cells: tuple[AtPlaces, ...]


def apart(cells: Sequence[CellRow]) -> Apart | None:
    """What it was worth where a machine's CPUs were; None where they stayed, or it is not known.

    Args:
        cells: of one machine.
    """
    workers = identical.distinct(cell for cell, _ in cells if cell.ok)
    at = places.learn(workers)
    shown = tuple(place for place in ORDER if at.pairs.get(place, 0) >= FEWEST)
    if len(shown) < 2:
        return None
    several = sorted(_several(cells, at), key=lambda cell: -cell.differ)
    return Apart(at, shown, _slower(cells, at), tuple(several))


def _slower(cells: Sequence[CellRow], at: Places) -> dict[Place, dict[str, float]]:
    by_name = {cell.name: cell for cell, _ in cells}
    steps: dict[tuple[str, str], dict[Place, list[float]]] = {}
    seen = set()
    for cell, _ in cells:
        base = by_name.get(f"{cell.suite}/{cell.key.baseline}")
        if base is None or not base.workers:
            continue
        of = str(identical.engine(base)), base.workers[-1].identity
        for worker in cell.workers:
            ran = identical.what_ran(worker)
            if ran not in seen:
                seen.add(ran)
                for pair, place in at.told(worker):
                    its = steps.setdefault(of, {}).setdefault(place, [])
                    its.append(pair.reference.median_s)
    ratios: dict[Place, dict[str, list[float]]] = {}
    for (engine, _), by_place in steps.items():
        usual = by_place.get(at.usual, []) if at.usual else []
        for place, there in by_place.items():
            if place != at.usual and min(len(usual), len(there)) >= FEWEST:
                ratio = statistics.median(there) / statistics.median(usual)
                ratios.setdefault(place, {}).setdefault(engine, []).append(ratio)
    return {
        place: {engine: statistics.median(its) for engine, its in sorted(ratios[place].items())}
        for place in ORDER
        if place in ratios
    }


def _several(cells: Sequence[CellRow], at: Places) -> Iterator[AtPlaces]:
    for cell, _ in cells:
        if not cell.ok or cell.same_as or cell.is_baseline:
            continue
        logs: dict[Place, list[float]] = {}
        for worker in cell.workers:
            for pair, place in at.told(worker):
                logs.setdefault(place, []).append(worker.log_ratio(pair))
        effects = {
            place: math.exp(statistics.median(its))
            for place, its in logs.items()
            if place in ORDER and len(its) >= FEWEST
        }
        if len(effects) > 1:
            yield AtPlaces(cell.name, effects)
