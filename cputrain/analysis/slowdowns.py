"""How much longer steps take where the CPUs lie elsewhere, and what an effect may differ by then.

An effect at one place is that at another one times what the cell's steps take longer there, over
what its reference's do. The second is known of an engine whose references ran at both places.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
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
class Slowdowns:
    """What a machine's places make of steps.

    Attributes:
        usual: the place that cells are judged by; None where nothing is known.
        steps: by place but the usual one and by engine, the references' steps there over those
            at the usual one; of the same experiments, medians.
    """

    usual: Place | None = None
    steps: Mapping[Place, Mapping[str, float]] = field(default_factory=dict)

    def of_effect(self, place: Place, engine: str | None) -> float:
        """Ratio by which an effect measured at `place` may differ from that at the usual one.

        A cell that takes as long everywhere differs by all that its reference slows down, one
        that slows down the most by what is left of that.

        Args:
            place: another one than the usual.
            engine: of the cell and its reference; None where they have two.
        """
        most = MOST_ON_ONE_CORE if "one core" in (place, self.usual) else MOST
        ratio = None if engine is None else self.steps.get(place, {}).get(engine)
        if ratio is None:
            return most
        slower = max(ratio, 1 / ratio)
        return max(UNEVEN * slower, most / slower)


def learn(cells: Sequence[CellResult], at: Places) -> Slowdowns:
    """What the references of a machine's cells took at each place.

    Args:
        cells: of one machine.
        at: its places.
    """
    by_name = {cell.name: cell for cell in cells}
    steps: dict[tuple[str, str], dict[Place, list[float]]] = {}
    seen = set()
    for cell in cells:
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
    medians = {
        place: {engine: statistics.median(its) for engine, its in sorted(by_engine.items())}
        for place, by_engine in ratios.items()
    }
    return Slowdowns(at.usual, medians)
