"""What a session's pairs tell of its noise, with few A/A passes and with many."""

import math

import numpy as np
import pytest
import simulated_pairs as simulated

from cputrain.analysis.paired.model import Pass
from cputrain.analysis.paired.noise import learn

pytestmark = pytest.mark.tools


def drawn(rng, count, worker=0.008, block=0.02, pairs=4, log_effect=0.0):
    engine = simulated.Engine(worker, block, host=simulated.CALM)
    return [simulated.one_pass(rng, engine, log_effect, pairs, block) for _ in range(count)]


@pytest.mark.parametrize(("worker", "block"), [(0.008, 0.02), (0.0035, 0.006), (0.015, 0.05)])
def test_both_scales_are_learned(worker, block):
    rng = np.random.default_rng(1)
    noise = learn(
        drawn(rng, 60, worker, block, 12), [[pass_] for pass_ in drawn(rng, 60, 0, block)]
    )
    assert noise.block == pytest.approx(block, rel=0.15)
    assert noise.worker_low < worker < noise.worker_high
    assert noise.worker == pytest.approx(worker, rel=0.35)


def test_few_a_a_passes_leave_the_worker_effect_less_certain():
    rng = np.random.default_rng(2)
    few, many = drawn(rng, 2), drawn(rng, 30)
    cells = [[pass_] for pass_ in drawn(rng, 40)]
    little, much = learn(few, cells), learn([*few, *many], cells)
    assert little.worker_high / little.worker_low > 1.6 * much.worker_high / much.worker_low
    assert (little.identical, much.identical) == (2, 32)


def test_earlier_sessions_and_cells_that_ran_again_tell_of_workers_too():
    rng = np.random.default_rng(3)
    few, before = drawn(rng, 2), drawn(rng, 20)
    again = [drawn(rng, 3, log_effect=effect) for effect in rng.normal(0, 0.5, 20)]
    once = [passes[:1] for passes in again]

    def factor(noise):
        return noise.worker_high / noise.worker_low

    alone = learn(few, once)
    assert factor(learn(few, once, before)) < factor(alone)
    assert factor(learn(few, again)) < factor(alone)
    assert learn([], once, before).identical == 20


def test_of_another_experiment_a_a_passes_tell_less_until_its_own_do():
    rng = np.random.default_rng(6)
    others, own = drawn(rng, 30), drawn(rng, 12, worker=0.03)
    told = learn([], [[own[0]]], others)
    hinted = learn([], [[own[0]]], of_another=others)
    assert 2 * told.worker < hinted.worker < 4 * told.worker
    assert hinted.worker_high / hinted.worker_low > 3 * told.worker_high / told.worker_low
    known = learn(own, of_another=others)
    assert known.worker_low < 0.03 < known.worker_high
    assert known.worker_high / known.worker_low < hinted.worker_high / hinted.worker_low
    without = learn(own[:1], of_another=[])
    assert without.worker > 2 * learn(own[:1]).worker


def test_the_noise_of_blocks_is_that_of_this_session():
    rng = np.random.default_rng(4)
    calm_then = drawn(rng, 20, block=0.002)
    noise = learn(
        drawn(rng, 4, block=0.04), [[pass_] for pass_ in drawn(rng, 30, block=0.04)], calm_then
    )
    assert noise.block == pytest.approx(0.04, rel=0.25)


def test_the_worst_a_a_pass_is_kept():
    noise = learn([Pass((0.01, 0.02)), Pass((-0.04, -0.03, -0.2))], (), [Pass((0.03,))])
    assert noise.worst == pytest.approx(0.04)


def test_of_a_pass_of_which_few_pairs_are_left_nothing_is_told_of_the_worst_worker():
    whole, left = Pass((0.01, 0.02, 0.03)), Pass((0.3,))
    assert learn([whole, left]).worst == pytest.approx(0.02)
    assert learn([left]).worst == pytest.approx(0.3)  # of nothing else it is


def test_without_an_a_a_pass_nothing_is_known():
    assert learn([], [[Pass((0.1, 0.2))]]) is None


def test_one_a_a_pass_of_one_pair_is_enough_to_go_on():
    noise = learn([Pass((0.004,))])
    assert noise.identical == 1 and 0 < noise.worker_low < noise.worker_high
    assert noise.block_weights.sum() == pytest.approx(1)


def test_cells_that_differ_are_known_to_differ():
    rng = np.random.default_rng(5)
    alike = [[pass_] for pass_ in drawn(rng, 60, pairs=8)]
    unlike = [drawn(rng, 1, block=0.02 * math.exp(0.6 * rng.standard_normal()), pairs=8)
              for _ in range(60)]  # fmt: skip
    same = drawn(rng, 5)

    def width(noise):
        logs = np.log(noise.blocks)
        mean = noise.block_weights @ logs
        return math.sqrt(noise.block_weights @ (logs - mean) ** 2)

    assert width(learn(same, unlike)) > 1.5 * width(learn(same, alike))
