"""Which cells get a further pass, where workers fail."""

import made_comparison
import pytest
from settled import settled

from cputrain.record.cell import CellKey
from cputrain.record.releases import TakenPair
from cputrain.sweep.releases import pairing
from cputrain.sweep.releases.chosen import ChosenCell
from cputrain.sweep.releases.passes import MOST_PASSES, Passes

pytestmark = pytest.mark.tools

EXPERIMENT = settled()


@pytest.fixture
def passes_of(monkeypatch):
    """Run all passes of two cells, of which some of one fail; the passes that each was in."""

    def run(failing):
        def take(cell, number, sides, of):
            name = cell.key.name
            if name == "one" and sides == (0, 1) and number in failing:
                own = {"status": "failed", "reason": "two: killed by SIGILL"}
                return TakenPair(key=cell.key, number=number, sides=sides, **own)
            # Passes that lie so far apart close no cell.
            ratio = 1.4 if sides == (0, 1) and number % 4 < 2 else 1.0
            return made_comparison.taken(ratio, cell=name, number=number, sides=sides)

        def keep(pair):
            kept.append(pair)
            return made_comparison.record(kept)

        kept = []
        monkeypatch.setattr(pairing, "take", take)
        keys = [CellKey("Framework", (name,)) for name in ("one", "two")]
        cells = [ChosenCell(key, (EXPERIMENT, EXPERIMENT)) for key in keys]
        Passes(cells, [None, None], 1, 1e9, keep, now=lambda: 0.0).run()
        others = [pair for pair in kept if not pair.is_identical]
        return [[p.number for p in others if p.key == key] for key in keys]

    return run


def test_a_cell_that_one_side_cannot_run_is_taken_once_and_the_others_go_on(passes_of):
    one, two = passes_of(range(1, MOST_PASSES + 1))
    assert one == [1] and len(two) > 2


def test_a_cell_of_which_a_pass_failed_goes_on_until_two_in_a_row_have(passes_of):
    one, _ = passes_of({2, 4, 5, 6, 7})
    assert one == [1, 2, 3, 4, 5]
