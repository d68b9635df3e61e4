"""The effect of one cell, and what speaks against it though its interval is narrow.

A single pair, a single pass whose worker or reference was not steady, or CPUs that lay elsewhere
than for most of a machine's cells: none of these is in an interval, and an effect may be off by
more for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cputrain.analysis import places
from cputrain.analysis.counted import Counted
from cputrain.analysis.paired import verdict as verdicts
from cputrain.analysis.paired.effect import Effect, effect
from cputrain.analysis.paired.forecast import FEWEST_PAIRS
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.paired.verdict import ONE_PAIR_TELLS, Verdict
from cputrain.analysis.places import Place, Places
from cputrain.analysis.slowdowns import Reference, Slowdowns
from cputrain.record.worker import WorkerRecord

ELSEWHERE = (
    "measured while its CPUs were {}, unlike most cells of this machine: it may be off by {:.3g}x"
)
ONE_PAIR = f"a single pair was left, which tells only what is beyond {ONE_PAIR_TELLS:g}x"
UNSTEADY = f"its worker was not steady and alone tells only what is beyond {ONE_PAIR_TELLS:g}x"
UNSTEADY_REFERENCE = (
    "the reference beside it was not steady, and so a single pass tells only what is beyond "
    f"{ONE_PAIR_TELLS:g}x"
)


@dataclass(frozen=True)
class CellEffect:
    """What the pairs of a cell say.

    Attributes:
        noise: that the effect was made with; None where nothing tells it.
        first: of the first pass alone, the median over its pairs.
        later: of all passes after it, which had no part in what the first one chose; None without.
        elsewhere: where its pairs were taken, if that is not where the machine's usually were: then
            only what is beyond `places_differ` is told. Where CPUs were moved within its blocks
            that holds for a single pass: several are of the places as this machine has them.
        unsteady: who was not steady, in words, where it is of a single pass: then only what is
            beyond `ONE_PAIR_TELLS` is told.
        places_differ: ratio by which the effect may differ from that at the usual place.
    """

    effect: Effect
    noise: EngineNoise | None
    verdict: Verdict
    first: float
    later: Effect | None
    elsewhere: Place | None = None
    unsteady: str | None = None
    places_differ: float = 1.0

    @property
    def off_by(self) -> float:
        """Ratio that it may be off by, both ways, beyond its interval; 1 without a doubt."""
        return max(
            verdicts.off_by(self.effect),
            ONE_PAIR_TELLS if self.unsteady is not None else 1.0,
            self.places_differ,
        )

    @property
    def of_little(self) -> str | None:
        """That it is of a single pair, or of a single pass in which somebody was not steady."""
        return ONE_PAIR if self.effect.is_of_one_pair else self.unsteady

    @property
    def of_elsewhere(self) -> str | None:
        """Where its CPUs lay, if that is not the usual place."""
        if self.elsewhere is None:
            return None
        return ELSEWHERE.format(places.WORDS[self.elsewhere], self.places_differ)

    @property
    def doubt(self) -> str | None:
        """In a few words, why nothing is told of an interval that leaves out 1; else None."""
        bare = self.effect.low is None
        if bare or self.verdict.word != "not told" or not verdicts.is_beyond(1.0, self.effect):
            return None
        if self.effect.is_of_one_pair:
            return "a single pair"
        if self.unsteady is not None:
            who = "it" if self.unsteady == UNSTEADY else "its reference"
            return f"{who} was not steady"
        if self.elsewhere is not None:
            return "its CPUs lay elsewhere"
        return "within the worst A/A pass"

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why it may be off by more than its interval says; none where `off_by` is 1."""
        return tuple(filter(None, (self.of_little, self.of_elsewhere)))


def cell_effect(
    workers: Sequence[WorkerRecord],
    pairs: Counted,
    noise: EngineNoise | None,
    at: Places,
    slowdowns: Slowdowns,
    reference: Reference | None = None,
    further_pairs: int = FEWEST_PAIRS,
) -> CellEffect:
    """What the pairs of a cell say.

    Args:
        workers: of the cell.
        pairs: of these, with a pass at least.
        noise: of them; None gives no interval.
        at: where the machine's CPUs were.
        slowdowns: what the machine's places make of steps.
        reference: see `Slowdowns.of_effect`.
        further_pairs: what a further pass would have that count.
    """
    made = effect(pairs.passes, noise)
    elsewhere = _elsewhere(pairs, at)
    first, *others = pairs.passes
    known = CellEffect(
        made,
        noise,
        verdicts.verdict(made, noise, further_pairs),
        math.exp(first.median),
        effect(others, noise) if others else None,
        elsewhere,
        None if others else _unsteady([w for w in workers if w.pairs]),
        1.0 if elsewhere is None else slowdowns.of_effect(elsewhere, reference),
    )
    return replace(known, verdict=_doubted(known))


def _elsewhere(pairs: Counted, at: Places) -> Place | None:
    is_mean = pairs.place == "moved" and len(pairs.passes) > 1
    return None if is_mean or pairs.place in (None, at.usual) else pairs.place


def _unsteady(paired: Sequence[WorkerRecord]) -> str | None:
    if not all(worker.is_steady for worker in paired):
        return UNSTEADY
    return None if all(worker.has_steady_reference for worker in paired) else UNSTEADY_REFERENCE


def _doubted(known: CellEffect) -> Verdict:
    """Its verdict: nothing is told that is not beyond what it may be off by.

    Another pass ends a doubt. Without an interval none tells.
    """
    said = known.verdict
    is_doubted = known.unsteady is not None or known.elsewhere is not None
    bare = known.effect.low is None
    if bare or not is_doubted or verdicts.is_beyond(known.off_by, known.effect):
        return said
    forecast = None if known.elsewhere is not None else said.further_passes
    return Verdict("not told", max(1, forecast or 1))
