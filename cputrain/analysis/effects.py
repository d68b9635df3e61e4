"""The rows of a machine's cells with what their pairs say: effects, intervals, verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical, noises, places
from cputrain.analysis.counted import Counted, counted
from cputrain.analysis.noises import Noises
from cputrain.analysis.paired.effect import Effect, effect
from cputrain.analysis.paired.noise import EngineNoise
from cputrain.analysis.paired.verdict import ONE_PAIR_TELLS, Verdict, verdict
from cputrain.analysis.places import Place, Places
from cputrain.results import columns
from cputrain.results.columns import Row
from cputrain.results.rates import Peaks
from cputrain.results.rows import CellResult

ALONE = "it was measured without a reference beside it, as by earlier versions"
ELSEWHERE = "measured while its CPUs were {}, unlike most cells of this machine"

ONE_PAIR = f"a single pair was left, which tells only what is beyond {ONE_PAIR_TELLS:g}x"
UNSTEADY = f"its worker was not steady and alone tells only what is beyond {ONE_PAIR_TELLS:g}x"

PLACES_DIFFER = 1.6
"""An effect has not been seen to differ by more from place to place. References' steps differed by
up to 1.53x, as the effect of a cell would that takes as long everywhere; the effects that lay
furthest apart were 1.95x and 1.49x (docs/figures/places.md)."""


@dataclass(frozen=True)
class CellEffect:
    """What the pairs of a cell say.

    Attributes:
        noise: that the effect was made with; None where nothing tells it.
        first: of the first pass alone, the median over its pairs.
        later: of all passes after it, which had no part in what the first one chose; None without.
        elsewhere: where its pairs were taken, if that is not where the machine's usually were: then
            only what is beyond `PLACES_DIFFER` is told.
        is_unsteady: it is of a single pass, whose worker was not steady: then only what is beyond
            `ONE_PAIR_TELLS` is told.
    """

    effect: Effect
    noise: EngineNoise | None
    verdict: Verdict
    first: float
    later: Effect | None
    elsewhere: Place | None = None
    is_unsteady: bool = False


@dataclass(frozen=True)
class Analysis:
    """What one machine's cells say together.

    Attributes:
        cells: of which it is.
        rows: one for each cell, in their order.
        effects: by the cell's place among them; cells without a pair that counts are left out.
        noises: of its engines, by session.
        places: where its CPUs were.
    """

    cells: Sequence[CellResult]
    rows: list[Row]
    effects: Mapping[int, CellEffect]
    noises: Noises
    places: Places


def analyse(cells: Sequence[CellResult], peaks: Peaks) -> Analysis:
    """What the cells of one machine say together.

    Args:
        cells: all of them.
        peaks: of the machine.
    """
    rows = [columns.row(cell, peaks) for cell in cells]
    at = places.learn(identical.distinct(cell for cell in cells if cell.ok))
    known = noises.learn(cells, at)
    effects: dict[int, CellEffect] = {}
    by_owner: dict[tuple[str, str], CellEffect] = {}
    for index, cell in enumerate(cells):
        if not (cell.ok and cell.workers):
            continue
        pairs = counted(cell.workers, at)
        if not pairs.passes:
            _say(rows[index], _why_none(cell, pairs))
        else:
            # Cells that share their workers share their effect.
            owner = cell.workers[-1].session, cell.same_as or cell.name
            is_steady = len(pairs.passes) > 1 or all(w.is_steady for w in cell.workers if w.pairs)
            effects[index] = by_owner.get(owner) or _cell_effect(
                pairs, known.of(cell, pairs), at, is_steady
            )
            by_owner[owner] = effects[index]
            _say(rows[index], effects[index].effect.reason)
            if not cell.is_baseline:
                _say(rows[index], _why_not_told(effects[index]))
            if (place := effects[index].elsewhere) is not None and not cell.is_baseline:
                _say(rows[index], ELSEWHERE.format(places.WORDS[place]))
            rows[index] |= _columns(effects[index])
        rows[index] |= _dropped(pairs)
    return Analysis(cells, rows, effects, known, at)


def _cell_effect(
    pairs: Counted, noise: EngineNoise | None, at: Places, is_steady: bool
) -> CellEffect:
    made = effect(pairs.passes, noise)
    first, *others = pairs.passes
    later = effect(others, noise) if others else None
    said = verdict(made, noise)
    elsewhere = None if pairs.place in (None, at.usual) else pairs.place
    if made.low is not None:  # without an interval no pass tells
        if elsewhere is not None and not _is_beyond(PLACES_DIFFER, made):
            said = Verdict("not told", 1)
        if not is_steady and not _is_beyond(ONE_PAIR_TELLS, made):
            said = Verdict("not told", max(1, said.further_passes or 1))
    return CellEffect(
        made, noise, said, math.exp(first.median), later, elsewhere, is_unsteady=not is_steady
    )


def _is_beyond(ratio: float, made: Effect) -> bool:
    """Whether the whole interval is further from 1 than this ratio."""
    if made.low is None or made.high is None:
        return False
    return made.low > ratio or made.high < 1 / ratio


def _columns(known: CellEffect) -> Row:
    made = known.effect
    return {
        "effect": made.value,
        "effect_low": made.low,
        "effect_high": made.high,
        "same_within": made.same_within,
        "first_effect": known.first,
        "later_effect": known.later.value if known.later else None,
        "later_high": known.later.high if known.later else None,
        "verdict": known.verdict.word,
        "further_passes": known.verdict.further_passes,
        "passes": made.passes,
        "pairs": made.pairs,
    }


def _dropped(pairs: Counted) -> Row:
    """Columns of what others did to the pairs; nothing of a cell without any."""
    if not pairs.pairs:
        return {}
    own, other = pairs.held_up_shares or (None, None)
    return {
        "place": pairs.place,
        "elsewhere_pairs": pairs.elsewhere,
        "dropped_pairs": pairs.dropped,
        "dropped_cell_share": pairs.cell_share,
        "dropped_reference_share": pairs.reference_share,
        "held_up_cell_share": own,
        "held_up_reference_share": other,
    }


def _why_none(cell: CellResult, pairs: Counted) -> str | None:
    """Why a cell has no effect; nothing where its suite compares nothing."""
    if cell.key.baseline is None:
        return None
    if pairs.pairs:
        return f"no effect: others had the CPUs during each of its {pairs.pairs} pairs"
    return f"no effect: {cell.workers[-1].reasons.get('reference', ALONE)}"


def _why_not_told(known: CellEffect) -> str | None:
    """Why nothing is told, although its interval may not hold 1."""
    if known.verdict.word != "not told" or known.effect.low is None:
        return None
    if known.effect.is_of_one_pair:
        return ONE_PAIR
    return UNSTEADY if known.is_unsteady else None


def _say(row: Row, words: str | None) -> None:
    row["reason"] = "; ".join(filter(None, (row["reason"], words))) or None
