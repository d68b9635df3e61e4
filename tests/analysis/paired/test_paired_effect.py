"""The effect of one cell: its value, its interval, and what outliers do to both."""

import math

import numpy as np
import pytest
import simulated_pairs as simulated
from hypothesis import given, settings
from hypothesis import strategies as st

from cputrain.analysis.paired import model
from cputrain.analysis.paired.effect import NO_NOISE, effect
from cputrain.analysis.paired.model import OF_EFFECT, Pass
from cputrain.analysis.paired.noise import learn

pytestmark = pytest.mark.tools


def learned(engine=simulated.TORCH, identical=6, seed=2):
    rng = np.random.default_rng(seed)
    same = [simulated.one_pass(rng, engine, 0.0, 4, engine.block) for _ in range(identical)]
    cells = [[simulated.one_pass(rng, engine, 0.1, 4, engine.block)] for _ in range(20)]
    return learn(same, cells)


NOISE = learned()
ratios = st.lists(st.floats(-0.3, 0.3), min_size=1, max_size=12).map(tuple)
passes = st.lists(ratios.map(Pass), min_size=1, max_size=4)


@given(ratios)
def test_of_one_pass_the_value_is_the_median_over_pairs(log_ratios):
    value = math.exp(np.median(log_ratios))
    assert effect([Pass(log_ratios)], None).value == pytest.approx(value)
    result = effect([Pass(log_ratios)], NOISE)
    assert result.value == pytest.approx(value)
    assert (result.passes, result.pairs) == (1, len(log_ratios))


def test_of_equal_passes_the_value_is_the_median_over_all_pairs():
    result = effect([Pass((0.01, 0.05)), Pass((0.02, 0.04)), Pass((0.03, 0.09))], NOISE)
    assert math.log(result.value) == pytest.approx(0.035)


def test_a_pass_of_many_pairs_does_not_outweigh_one_of_few_by_their_number():
    # Ten pairs know their worker well, and nothing of other workers.
    result = effect([Pass((0.10,) * 10), Pass((0.13,) * 4), Pass((0.14,) * 4)], NOISE)
    assert math.log(result.value) == pytest.approx(0.13)


@settings(max_examples=40)
@given(passes)
def test_sides_are_treated_alike(cell):
    here = effect(cell, NOISE)
    turned = effect([Pass(tuple(-x for x in pass_.log_ratios)) for pass_ in cell], NOISE)
    assert here.low <= here.value <= here.high
    assert (turned.low, turned.high) == pytest.approx((1 / here.high, 1 / here.low), rel=1e-6)


def test_a_large_effect_is_another_at_another_time():
    """The same scatter about 1.01x, 1.5x and 3x; only fresh passes make up for it."""
    scatter = (-0.01, -0.003, 0.003, 0.01)

    def half_width(ratio, count=1):
        return effect([Pass(tuple(math.log(ratio) + x for x in scatter))] * count, NOISE).half_width

    assert half_width(1.01) == pytest.approx(half_width(1.0), rel=0.02)
    assert half_width(1.5) > 1.5 * half_width(1.0)
    assert half_width(3.0) > 2 * OF_EFFECT * math.log(3.0)
    assert half_width(3.0) == pytest.approx(half_width(1 / 3.0), rel=1e-6)
    large = effect([Pass(tuple(math.log(8.0) + x for x in scatter))], NOISE)
    assert large.high / large.value == pytest.approx(large.value / large.low, rel=0.1)
    assert half_width(3.0, 4) < 0.6 * half_width(3.0)


def test_the_order_of_passes_does_not_matter():
    cell = [Pass((0.01, 0.03, 0.02)), Pass((0.05, 0.04)), Pass((0.0, 0.01, 0.02, 0.03))]
    here, turned = effect(cell, NOISE), effect(cell[::-1], NOISE)
    assert turned.value == pytest.approx(here.value)
    assert (turned.low, turned.high) == pytest.approx((here.low, here.high), rel=1e-9)


def test_without_noise_there_is_a_value_and_a_reason_instead_of_an_interval():
    result = effect([Pass((0.1, 0.2))], None)
    assert (result.low, result.high, result.low_90, result.high_90) == (None,) * 4
    assert result.reason == NO_NOISE and result.half_width is None and result.half_width_90 is None


@pytest.mark.parametrize("wrong", [(), (math.nan,), (0.1, math.inf)])
def test_a_pass_has_pairs_and_they_are_numbers(wrong):
    with pytest.raises(ValueError, match=r"pass without|not finite"):
        Pass(wrong)


def test_an_effect_has_a_pass():
    with pytest.raises(ValueError, match="pass"):
        effect([], NOISE)


def test_one_pair_that_a_burst_hit_hardly_moves_the_effect():
    calm = effect([Pass((0.10, 0.11, 0.09, 0.10))], NOISE)
    hit = effect([Pass((0.10, 0.11, 0.09, 0.70))], NOISE)
    assert math.log(hit.value / calm.value) < 0.01
    assert hit.low > 1.03 and hit.high < 1.20


def test_two_passes_that_disagree_say_so_and_a_third_decides():
    off, good, more = Pass((-0.5, -0.51, -0.49)), Pass((0.0, 0.01, -0.01)), Pass((0.01, 0.0, 0.02))
    two, three = effect([off, good], NOISE), effect([off, good, more], NOISE)
    assert two.low < 0.65 and two.high > 0.98
    assert three.low > 0.93 and three.high < 1.06


def test_more_pairs_and_more_passes_make_it_narrower_as_far_as_they_can():
    def half_width(pairs, count):
        quantiles = (np.arange(pairs) + 0.5) / pairs - 0.5
        return effect([Pass(tuple(0.04 * quantiles))] * count, NOISE).half_width

    assert half_width(2, 1) > half_width(4, 1) > half_width(12, 1) > half_width(12, 2)
    # However many pairs: a single worker's own effect stays.
    assert half_width(200, 1) > 2 * NOISE.worker
    assert half_width(12, 4) < 0.6 * half_width(12, 1)


def test_the_interval_is_that_of_the_model():
    """Against drawing scales, workers and an effect at random and weighing them by the pairs."""
    rng = np.random.default_rng(4)
    cell = [Pass((0.03, 0.05, 0.10)), Pass((0.02, 0.03))]
    draws = 400_000
    block = rng.choice(NOISE.blocks, draws, p=NOISE.block_weights)
    worker = rng.choice(NOISE.workers, draws, p=NOISE.worker_weights)
    theta = rng.uniform(-0.2, 0.3, draws)
    weight = np.ones(draws)
    for pass_ in cell:
        place = theta + np.hypot(worker, model.growth(cell)) * rng.standard_t(4, draws)
        for ratio in pass_.log_ratios:
            weight *= ((1 + ((ratio - place) / block) ** 2 / 3) ** -2) / block
    order = np.argsort(theta)
    below = np.cumsum(weight[order]) / weight.sum()
    drawn = np.interp([0.005, 0.05, 0.95, 0.995], below, theta[order])
    here = effect(cell, NOISE)
    ends = np.log([here.low, here.low_90, here.high_90, here.high])
    assert ends == pytest.approx(drawn, abs=0.0015)


def test_the_distribution_of_worker_effects_is_students():
    rng = np.random.default_rng(5)
    drawn = 0.01 * rng.standard_t(4, 200_000)
    at = np.array([-0.05, -0.01, 0.0, 0.02])
    assert model.worker_cdf(at, np.array(0.01)) == pytest.approx(
        [np.mean(drawn <= x) for x in at], abs=0.004
    )
    quartile = np.quantile(np.abs(drawn), 0.5) / 0.01 / 0.67449
    assert quartile == pytest.approx(model.WORKER_SD, rel=0.02)
