"""How long another pass of a cell takes."""

from pathlib import Path

import pytest
from msgspec import structs

from cputrain.analysis.pass_seconds import pass_s
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.record.sample import SpoiltPair

pytestmark = pytest.mark.tools

MEASURED = Path(__file__).parents[1] / "live" / "measured.json"


def worker(step_s, reference_step_s, pairs, wall_s):
    """One that was measured, with so many pairs of blocks of three steps."""
    (known,) = files.read(MEASURED, CellRecord, SCHEMA).workers
    sample = structs.replace(known.samples[0], step_s=[step_s] * 3)
    reference = structs.replace(known.pairs[0].reference, step_s=[reference_step_s] * 3)
    beside = [
        structs.replace(known.pairs[0], sample=number, reference=reference)
        for number in range(pairs)
    ]
    return known.but(samples=[sample] * pairs, pairs=beside, wall_s=wall_s)


def test_each_further_pair_is_a_block_of_both_sides_and_a_step_that_is_discarded():
    known = worker(0.05, 0.02, pairs=4, wall_s=5.0)
    assert pass_s(known, 4) == 5.0
    assert pass_s(known, 22) == pytest.approx(5.0 + 18 * 4 * (0.05 + 0.02))


def test_of_heavy_steps_none_is_discarded():
    known = worker(2.0, 0.02, pairs=2, wall_s=20.0)
    assert pass_s(known, 8) == pytest.approx(20.0 + 6 * (3 * 2.0 + 4 * 0.02))


def test_as_many_pairs_are_taken_again_as_were():
    known = worker(0.05, 0.02, pairs=4, wall_s=5.0)
    block = known.samples[0]
    spoilt = SpoiltPair(own=block, reference=known.pairs[0].reference, first="cell")
    disturbed = known.but(spoilt_pairs=[spoilt] * 2)
    assert pass_s(disturbed, 4) == 5.0
    assert pass_s(disturbed, 22) == pytest.approx(5.0 + 1.5 * 18 * 4 * (0.05 + 0.02))


def test_a_first_pass_has_fewer_pairs_than_a_later_one_had():
    later = worker(0.05, 0.04, pairs=22, wall_s=10.0)
    assert pass_s(later) == pytest.approx(10.0 - 18 * 4 * (0.05 + 0.04))


def test_a_worker_beside_nothing_takes_what_it_took():
    (known,) = files.read(MEASURED, CellRecord, SCHEMA).workers
    alone = known.but(pairs=[], wall_s=7.0)
    assert pass_s(alone) == pass_s(alone, 22) == 7.0
