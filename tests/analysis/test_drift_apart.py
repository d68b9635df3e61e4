"""Drift where a hypervisor moves the CPUs for minutes, on hosts whose truth is known."""

import math
import random
import statistics

import pytest

from cputrain.analysis import drift_apart
from cputrain.analysis.drift_apart import Slowdown
from cputrain.analysis.moments import PlacedMoment

pytestmark = pytest.mark.tools

USUAL = 1.3
"""The default experiment far apart over near."""


def host(seed, minutes=40, stays=5):
    """Moments every six seconds: far apart for some minutes, then near for some, 3 % of noise."""
    rng, far, moments = random.Random(seed), False, []
    for n in range(10 * minutes):
        if rng.random() < 1 / (10 * stays):
            far = not far
        step_s = 0.04 * (USUAL if far else 1.0) * math.exp(rng.gauss(0, 0.03))
        moments.append(PlacedMoment(6.0 * n, step_s, float(far)))
    return moments


def while_after(moments, start, seconds, slowdown=USUAL):
    """Mean of a model's step over that of its minute; the share of that minute far apart."""

    def step(moment):
        return moment.step_s / USUAL**moment.far * slowdown**moment.far

    minute = [m for m in moments if start - 60 < m.at_s <= start]
    later = [m for m in moments if start < m.at_s <= start + seconds]
    ratio = statistics.fmean(map(step, later)) / statistics.fmean(map(step, minute))
    return ratio, statistics.fmean(m.far for m in minute)


def intervals(slowdown, tries=40, seconds=120.0):
    """Half widths with and without places, and how many of each hold what comes."""
    widths, held = {"placed": [], "all": []}, {"placed": 0, "all": 0}
    for seed in range(tries):
        known = {"a": host(3 * seed), "b": host(3 * seed + 1)}
        now = host(3 * seed + 2)
        start = 6.0 * random.Random(seed).randrange(30, 300)
        ratio, far = while_after(now, start, seconds, slowdown)
        placed = drift_apart.recorded(known, far, Slowdown(slowdown, USUAL))
        every = drift_apart.recorded(known, None, Slowdown())
        for name, recorded in (("placed", placed), ("all", every)):
            low, high = recorded.drift(seconds).interval(0.9)
            widths[name].append((high - low) / 2)
            held[name] += low <= ratio <= high
    return {name: (statistics.median(its), held[name] / tries) for name, its in widths.items()}


def test_an_interval_from_minutes_alike_is_narrower_and_holds_as_often():
    """150 tries of ten minutes: 91 % held by 13 % either way, 90 % by 20 % from all minutes."""
    placed, every = intervals(USUAL, seconds=600.0).values()
    assert placed[0] < 0.8 * every[0]
    assert placed[1] >= 0.8


def test_a_model_that_hardly_slows_down_far_apart_has_a_narrow_interval():
    placed, every = intervals(1.02).values()
    assert placed[0] < 0.4 * every[0]
    assert placed[1] >= 0.8


def test_a_minute_whose_place_is_not_known_counts_with_all():
    known = {"a": host(1)}
    assert drift_apart.recorded(known, None, Slowdown()).starts is None
    blind = {"a": [PlacedMoment(m.at_s, m.step_s, None) for m in host(1)]}
    assert drift_apart.recorded(blind, 0.0, Slowdown()).starts is None
    assert drift_apart.recorded(blind, 0.0, Slowdown()).far is None


def test_where_the_cpus_never_move_all_minutes_count():
    known = {"a": [PlacedMoment(m.at_s, m.step_s, 0.0) for m in host(1)]}
    recorded = drift_apart.recorded(known, 0.0, Slowdown())
    assert (recorded.starts, recorded.far) == (None, None)


def test_minutes_are_alike_by_their_share_far_apart():
    moments = [PlacedMoment(6.0 * n, 0.04, float(n >= 30)) for n in range(60)]
    starts = {
        far: sorted(at for _, at in drift_apart.recorded({"a": moments}, far, Slowdown()).starts)
        for far in (0.0, 0.5, 1.0)
    }
    assert starts[0.0][-1] == 192.0  # 3 of the 10 moments of its minute are far apart
    assert starts[1.0][0] == 216.0  # 7 of 10
    assert 180.0 < starts[0.5][0] < starts[0.5][-1] < 234.0


def test_a_moment_is_slowed_down_by_its_share():
    assert Slowdown(1.1, 1.3).at(0.0) == 1.0
    assert Slowdown(1.1, 1.3).at(1.0) == pytest.approx(1.1 / 1.3)
    assert Slowdown(1.1, 1.3).at(0.5) == pytest.approx(1.05 / 1.15)
