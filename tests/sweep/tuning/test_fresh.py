"""The test of a winner on simulated step times: how its time is divided into passes."""

import pytest
from settled import settled
from simulated_workers import Simulated

from cputrain.sweep.tuning import fresh

pytestmark = pytest.mark.tools

DEFAULT = settled()
TUNED = DEFAULT.but(allocator="mimalloc")
STEP_S = 5.0


@pytest.mark.parametrize("seconds", [180, 220, 260, 300, 340, 380, 420])
def test_what_a_first_pass_leaves_of_the_time_goes_to_another(seconds):
    """Three workers are warm after 66 s, 3 pairs and twins take 60 s; of two it is 44 and 30."""
    workers = Simulated(lambda e: STEP_S * (0.98 if e == TUNED else 1.0), noise=0.05)
    test = fresh.Test(workers, fresh.Sides(TUNED, DEFAULT), [], 0, workers.now, lambda taken: None)
    test.run(float(seconds))
    assert workers.seconds <= 1.05 * seconds
    assert len(test.passes) >= (1 if seconds < 300 else 2)
    assert all(len(taken.pairs) >= fresh.FEWEST_PAIRS for taken in test.passes)
