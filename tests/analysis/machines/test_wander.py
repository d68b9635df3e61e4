"""How far a machine is from its usual speed: what is told of made series whose truth is known."""

import math

import numpy as np
import pytest

from cputrain.analysis.machines import wander

pytestmark = pytest.mark.tools


def series(rng, count, sd, together=0.0, start=0.0, apart_s=60.0):
    """Moments whose logarithms have this deviation and hang together so much."""
    logs, now = [], rng.standard_normal()
    for _ in range(count):
        now = together * now + math.sqrt(1 - together**2) * rng.standard_normal()
        logs.append(now)
    return [(start + apart_s * i, 0.04 * math.exp(sd * log)) for i, log in enumerate(logs)]


def test_independent_moments_tell_their_deviation_each():
    rng = np.random.default_rng(1)
    its = wander.learned({"a": series(rng, 400, 0.1)})
    assert its.log_sd == pytest.approx(0.1, rel=0.15) and its.moments == 400 and its.sessions == 1
    assert its.independent > 250 and its.recorded_s == 399 * 60
    assert its.mean_variance == pytest.approx(its.log_sd**2 / its.independent)


def test_moments_that_hang_together_count_as_few():
    rng = np.random.default_rng(2)
    counts = [wander.learned({"a": series(rng, 200, 0.1, 0.9)}).independent for _ in range(20)]
    assert np.median(counts) == pytest.approx(200 * 0.1 / 1.9, rel=0.8)
    assert max(counts) < 60


def test_a_minute_is_no_more_than_one_moment():
    rng = np.random.default_rng(4)
    its = wander.learned({"a": series(rng, 30, 0.1, apart_s=5.0)})
    assert its.moments == 30 and its.independent <= 3 and its.degrees <= 2


def test_minutes_begin_with_a_session_and_not_with_the_clocks():
    series_s = series(np.random.default_rng(5), 16, 0.1, apart_s=2.5)
    told = [
        wander.learned({"a": [(at + start, s) for at, s in series_s]})
        for start in (0.0, 15.0, 30.0, 45.0)
    ]
    assert told == [told[0]] * 4 and told[0].independent == 1


def test_each_session_has_minutes_of_its_own():
    """Also where one begins in the minute in which another one ended."""
    rng = np.random.default_rng(6)
    parts = {name: series(rng, 8, 0.1, start=start, apart_s=2.5) for name, start in
             (("a", 5.0), ("b", 30.0))}  # fmt: skip
    assert wander.learned(parts).independent > 1


def test_sessions_that_differ_leave_few_independent_moments():
    rng = np.random.default_rng(3)
    slower = [(at, 1.5 * s) for at, s in series(rng, 50, 0.01, start=1e6)]
    its = wander.learned({"a": series(rng, 50, 0.01), "b": slower})
    assert its.log_sd > 0.15 and its.independent < 5 and its.sessions == 2


def test_few_moments_tell_nothing_and_equal_ones_no_drift():
    assert wander.learned({}) is None
    assert wander.learned({"a": [(60.0 * i, 0.04) for i in range(wander.FEWEST - 1)]}) is None
    its = wander.learned({"a": [(60.0 * i, 0.04) for i in range(9)]})
    assert its.log_sd == 0 and its.degrees >= 1
