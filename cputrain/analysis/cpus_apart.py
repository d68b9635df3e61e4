"""What it was worth where the CPUs lay: steps of references, and effects, by place (`places`)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical, places, slowdowns
from cputrain.analysis.ends import CellRow
from cputrain.analysis.places import Place, Places
from cputrain.analysis.slowdowns import FEWEST

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
    known = slowdowns.learn([cell for cell, _ in cells], at)
    slower = {place: known.by_engine(place) for place in ORDER if place in known.steps}
    return Apart(at, shown, slower, tuple(several))


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
