"""The rows of a machine's cells with what their pairs say: effects, intervals, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cputrain.analysis import identical, noises, pass_pairs, places, slowdowns
from cputrain.analysis.by_quota import is_by_quota
from cputrain.analysis.cell_effect import CellEffect, cell_effect
from cputrain.analysis.counted import Counted, counted
from cputrain.analysis.noises import Noises
from cputrain.analysis.pass_pairs import PassPairs
from cputrain.analysis.places import Places
from cputrain.results import columns
from cputrain.results.columns import Row
from cputrain.results.rates import Peaks
from cputrain.results.rows import CellResult

ALONE = "it was measured without a reference beside it, as by earlier versions"


@dataclass(frozen=True)
class Analysis:
    """What one machine's cells say together.

    Attributes:
        cells: of which it is.
        rows: one for each cell, in their order.
        effects: by the cell's place among them; cells without a pair that counts are left out.
        noises: of its engines, by session.
        places: where its CPUs were.
        pass_pairs: what a further pass would have.
    """

    cells: Sequence[CellResult]
    rows: list[Row]
    effects: Mapping[int, CellEffect]
    noises: Noises
    places: Places
    pass_pairs: PassPairs


def analyse(cells: Sequence[CellResult], peaks: Peaks) -> Analysis:
    """What the cells of one machine say together.

    Args:
        cells: all of them.
        peaks: of the machine.
    """
    rows = [columns.row(cell, peaks) for cell in cells]
    at = places.learn(identical.distinct(cell for cell in cells if cell.ok))
    known = noises.learn(cells, at)
    further = pass_pairs.learn(cells, known)
    slowed, beside = slowdowns.learn(cells, at), slowdowns.references(cells)
    effects: dict[int, CellEffect] = {}
    by_owner: dict[tuple[str, str], CellEffect] = {}
    for index, cell in enumerate(cells):
        if not (cell.ok and cell.workers) or cell.other_baseline is not None:
            continue
        pairs = counted(cell.workers, at)
        if not pairs.passes:
            columns.add_reason(rows[index], _why_none(cell, pairs))
        else:
            # Cells that share their workers share their effect.
            owner = cell.workers[-1].session, cell.same_as or cell.name
            more = pass_pairs.of_cell(cell, further).counting
            its = by_owner.get(owner) or cell_effect(
                cell.workers,
                pairs,
                known.of(cell, pairs),
                at,
                slowed,
                slowdowns.own(cell, beside),
                more,
            )
            effects[index] = by_owner[owner] = its
            columns.add_reason(rows[index], its.effect.reason)
            if not cell.is_baseline:
                columns.add_reason(rows[index], _why_not_told(its))
                columns.add_reason(rows[index], its.of_elsewhere)
            rows[index] |= _columns(its)
        rows[index] |= _dropped(pairs)
    return Analysis(cells, rows, effects, known, at, further)


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
        "doubt": known.doubt,
        "passes": made.passes,
        "pairs": made.pairs,
        "places_differ": known.places_differ if known.elsewhere else None,
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
        who = (
            "a CPU quota held threads back" if is_by_quota(cell.workers) else "others had the CPUs"
        )
        return f"no effect: {who} during each of its {pairs.pairs} pairs"
    return f"no effect: {cell.workers[-1].reasons.get('reference', ALONE)}"


def _why_not_told(known: CellEffect) -> str | None:
    """Why nothing is told, although its interval may not hold 1."""
    is_told = known.verdict.word != "not told" or known.effect.low is None
    return None if is_told else known.of_little
