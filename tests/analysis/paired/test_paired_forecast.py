"""How much narrower further passes make an interval."""

import math
import statistics

import numpy as np
import pytest
import simulated_pairs as simulated

from cputrain.analysis.paired import forecast
from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.noise import learn

pytestmark = pytest.mark.tools

BUSY = simulated.Engine(worker=0.007, block=0.08, host=simulated.CALM)
"""As noisy as a shared virtual machine: half of a first pass's intervals within 14 %."""


def passes_of(engine, counts, cells=40, seed=3):
    """Cells without an effect, with passes of so many pairs, and the noise that they tell."""
    rng = np.random.default_rng(seed)
    made = [
        [simulated.one_pass(rng, engine, 0.0, pairs, engine.block) for pairs in counts]
        for _ in range(cells)
    ]
    same = [simulated.one_pass(rng, engine, 0.0, 5, engine.block) for _ in range(15)]
    return made, learn(same, made)


@pytest.mark.parametrize("engine", [BUSY, simulated.TORCH], ids=["busy", "torch"])
@pytest.mark.parametrize("counts", [(1, 8), (1, 40), (4, 8), (4, 40), (8, 8, 8), (1, 30, 30)])
def test_widths_become_what_is_said(engine, counts):
    """Of a single pair more than of many, and the more the more pairs the next pass has."""
    made, noise = passes_of(engine, counts)
    *_, pairs = counts
    over = []
    for passes in made:
        before, after = effect(passes[:-1], noise), effect(passes, noise)
        said = before.half_width * forecast.width_left(before, noise, 1, pairs)
        over.append(after.half_width / said)
    assert 0.77 < statistics.median(over) < 1.3


def test_passes_are_fewer_where_each_has_more_pairs():
    made, noise = passes_of(BUSY, (4,), cells=20)
    before = effect(made[0], noise)
    few, many = (forecast.passes_until(before, noise, 4.0, pairs) for pairs in (8, 40))
    assert many < few
    for passes, pairs in ((few, 8), (many, 40)):
        now, one_less = (forecast.width_left(before, noise, n, pairs) for n in (passes, passes - 1))
        assert now <= 1 / 4.0 < one_less


def test_what_takes_too_many_passes_is_not_forecast():
    made, noise = passes_of(BUSY, (4,), cells=20)
    before = effect(made[0], noise)
    assert forecast.passes_until(before, noise, 1.0) == 0
    assert forecast.passes_until(before, noise, 1e3) is None
    assert forecast.passes_until(before, noise, math.inf) is None
