"""Who goes on in a race and who wins it, by their ratios alone."""

import math
import random
import statistics

import pytest

from cputrain.analysis.tuning import halving

pytestmark = pytest.mark.tools

RACES = 1000


def test_one_block_in_a_noisy_race_ends_nobody_that_may_be_near():
    one, others = [math.log(1.53)], [0.0, 0.2]
    assert "far slower" not in halving.dropped({0: one, 1: others}, 0.13, None).values()
    assert halving.dropped({0: [math.log(1.7)], 1: others}, 0.05, None) == {0: "far slower"}


@pytest.mark.parametrize("blocks", [2, 3, 4, 5, 8, 16])
def test_the_noise_of_a_race_is_that_of_its_blocks_however_few(blocks):
    chance, spread, named = random.Random(3), 0.05, 0
    noises = []
    for _ in range(RACES):
        ratios = {place: [chance.gauss(0, spread) for _ in range(blocks)] for place in range(4)}
        noises.append(halving.noise(list(ratios.values())))
        named += halving.winner(ratios, noises[-1], len(ratios)) is not None
    assert statistics.median(noises) == pytest.approx(spread, rel=0.1)
    assert named <= 1.5 * halving.BY_CHANCE * len(noises)
