"""How exact an effect is, by the ends of its interval."""

import math

import pytest

from cputrain.analysis.ends import log_sd
from cputrain.analysis.paired.effect import effect
from cputrain.analysis.paired.model import WORKER_SD, Pass
from cputrain.analysis.paired.noise import learn

pytestmark = pytest.mark.tools


def test_ends_of_one_pass_are_those_of_a_worker_effect():
    """99 % of a t distribution with 4 degrees of freedom lie within 4.604 of its scale."""
    low, high = math.exp(-4.604 * 0.02), math.exp(4.604 * 0.02)
    assert log_sd(low, high, 1) == pytest.approx(0.02 * WORKER_SD, rel=1e-3)
    assert log_sd(low, high, 1) < log_sd(low, high, 2) < log_sd(low, high, 3) < log_sd(low, high)
    assert log_sd(low, high, 10_000) == pytest.approx(log_sd(low, high), rel=1e-3)


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_the_deviation_of_passes_that_agree_falls_with_their_root(passes):
    alike = [Pass((-0.002, -0.001, 0.001, 0.002))] * passes
    noise = learn([Pass((s * 0.01,) * 4) for s in (-1, 1, -1, 1, -2, 2, 0.5, -0.5)] * 4)
    made = effect(alike, noise)
    sd = log_sd(made.low, made.high, passes)
    assert sd == pytest.approx(noise.worker / math.sqrt(passes), rel=0.15)
