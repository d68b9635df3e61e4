"""What a machine's records tell of the while after a minute, on drifts whose truth is known."""

import math
import random
import statistics

import pytest

from cputrain.analysis.drift import learned
from cputrain.report import trust

pytestmark = pytest.mark.tools


def session(times, seconds):
    return list(zip(times, seconds, strict=True))


def steady(minutes, step_s=0.04, every_s=6.0):
    times = [n * every_s for n in range(round(60 * minutes / every_s))]
    return session(times, [step_s] * len(times))


def test_a_steady_machine_has_no_drift():
    drift = learned({"a": steady(20)}, 3600.0)
    assert drift.interval(0.9) == (pytest.approx(1.0), pytest.approx(1.0))
    assert drift.longest_s == pytest.approx(1194) and drift.sessions == 1


def test_few_moments_tell_nothing():
    assert learned({"a": steady(0.4)}, 60.0) is None
    assert learned({}, 60.0) is None


def test_what_a_minute_before_cannot_know_is_in_the_interval():
    """Each minute has a speed of its own, apart by 10 %: so is an hour's mean from a minute."""
    rng = random.Random(0)
    minutes = [0.04 * math.exp(rng.gauss(0, 0.1)) for _ in range(60)]
    points = [(60.0 * m + 6 * n, s) for m, s in enumerate(minutes) for n in range(10)]
    low, high = learned({"a": points}, 1800.0).interval(0.9)
    assert 0.75 < low < 0.9 and 1.1 < high < 1.35


def test_a_longer_while_is_known_better_than_a_short_one():
    """Independent minutes: the mean of many lies nearer to any of them than a single one does."""
    rng = random.Random(1)
    minutes = [0.04 * math.exp(rng.gauss(0, 0.1)) for _ in range(120)]
    points = [(60.0 * m + 6 * n, s) for m, s in enumerate(minutes) for n in range(10)]
    short, long = (learned({"a": points}, horizon) for horizon in (60.0, 1200.0))
    assert long.log_sd < 0.95 * short.log_sd


def test_sessions_that_differ_widen_what_is_longer_than_each_of_them():
    by_session = {"a": steady(20, 0.04), "b": steady(20, 0.05), "c": steady(20, 0.044)}
    assert learned(by_session, 600.0).log_sd == pytest.approx(0.0)
    assert learned(by_session, 36_000.0).log_sd > 0.08


def test_intervals_hold_nine_tenths_of_what_comes():
    """A slow wave and noise: 90 % intervals learned from two earlier sessions, on a third."""
    rng = random.Random(2)
    held = tries = 0
    for _ in range(60):
        sessions = []
        for _ in range(3):
            phase, points = rng.uniform(0, 2 * math.pi), []
            for n in range(400):
                at = 6.0 * n
                wave = 0.1 * math.sin(2 * math.pi * at / 500 + phase)
                points.append((at, 0.04 * math.exp(wave + rng.gauss(0, 0.04))))
            sessions.append(points)
        drift = learned({"a": sessions[0], "b": sessions[1]}, 300.0)
        low, high = drift.interval(0.9)
        start = rng.randrange(20, 300)
        minute = [s for at, s in sessions[2] if 6 * start - 60 < at <= 6 * start]
        later = [s for at, s in sessions[2] if 6 * start < at <= 6 * start + 300]
        ratio = (sum(later) / len(later)) / (sum(minute) / len(minute))
        held, tries = held + (low <= ratio <= high), tries + 1
    assert 0.8 <= held / tries <= 1.0


def test_the_newest_session_is_so_by_its_time_and_not_by_its_name(monkeypatch):
    """Sessions of plain asv are called asv-..., which comes after any date."""
    early, late = [(0.0, 0.05), (60.0, 0.05)], [(3600.0, 0.04), (3660.0, 0.04)]
    known = {"20261122T180000-1": late, "asv-1-2": early}
    monkeypatch.setattr(trust.moments, "moments", lambda cells: known)
    assert trust.newest_drift([]) == [(0.0, 0.04), (1.0, 0.04)]


def noisy(rng, minutes, sd, every_s=6.0):
    times = [n * every_s for n in range(round(60 * minutes / every_s))]
    return session(times, [0.04 * math.exp(rng.gauss(0, sd)) for _ in times])


def test_what_the_moments_of_a_minute_are_apart_is_of_any_minute():
    """The minute that is projected from begins at any moment too, and may have a change in it: of
    ten moments k before it and 10 - k after it, on average over k.
    """
    rng = random.Random(3)
    points = [
        (60.0 * m + 6 * n, 0.04 * (1.2 if m % 2 else 1.0) * math.exp(rng.gauss(0, 0.05)))
        for m in range(40)
        for n in range(10)
    ]
    changes = sum(k * (10 - k) for k in range(10)) / 10 / 90 * math.log(1.2) ** 2
    expected = math.sqrt(0.05**2 + changes)
    assert learned({"a": points}, 600.0).minute_sd == pytest.approx(expected, rel=0.05)
    # Of those alone that end just before a change, as they do not differ from each other.
    starts = {("a", at) for at, _ in points if at % 60 == 54}
    assert learned({"a": points}, 600.0, starts).minute_sd == pytest.approx(0.05, rel=0.1)


def evenings(rng, count, sd, break_s=4000.0, minutes=20):
    """Runs of so many minutes with a break between them."""
    return {
        str(n): [
            (at + n * (60 * minutes + break_s), seconds) for at, seconds in noisy(rng, minutes, sd)
        ]
        for n in range(count)
    }


def test_an_uneven_minute_widens_what_calm_records_tell_and_a_calm_one_does_not():
    rng = random.Random(4)
    drift = learned(evenings(rng, 12, 0.03), 120.0)
    minute = [seconds for _, seconds in noisy(rng, 1.2, 0.09)]
    later = drift.after(minute)
    assert later.uneven == pytest.approx(
        statistics.stdev(map(math.log, minute)) / drift.minute_sd, rel=1e-9
    )
    assert later.log_sd == pytest.approx(later.uneven * drift.log_sd) and later.uneven > 1.5
    assert later.degrees == len(minute) - 1 < drift.degrees == 14
    assert drift.after([seconds for _, seconds in noisy(rng, 1.2, 0.01)]) == drift
    assert drift.after([0.01, 0.04, 0.16, 0.08]) == drift, "four moments tell nothing"


def held(sd):
    """Of runs of two minutes on a host this uneven, how many the 90 % interval of calm records
    holds: without and with the minute's own moments.
    """
    rng, counts = random.Random(5), [0, 0]
    drifts = [learned(evenings(rng, 8, 0.03), 120.0) for _ in range(5)]
    for drift in drifts * 60:
        minute, later = ([s for _, s in noisy(rng, minutes, sd)] for minutes in (1.0, 2.0))
        ratio = statistics.fmean(later) / statistics.fmean(minute)
        for index, each in enumerate((drift, drift.after(minute))):
            low, high = each.interval(0.9)
            counts[index] += low <= ratio <= high
    return [count / 300 for count in counts]


def test_intervals_of_calm_records_hold_on_an_uneven_evening_too():
    calm, (without, with_own) = held(0.03), held(0.09)
    assert all(0.86 <= share <= 0.98 for share in calm), calm
    assert without < 0.6 and 0.84 <= with_own <= 0.97


def test_an_evening_counts_as_one_however_long_it_is_and_in_how_many_runs():
    rng = random.Random(6)
    apart, together = evenings(rng, 8, 0.03), evenings(rng, 8, 0.03, break_s=600.0)
    appended = {"a session that was gone on with": [p for its in apart.values() for p in its]}
    drifts = [learned(its, 120.0) for its in (apart, appended, together)]
    assert [drift.evenings for drift in drifts] == [8, 8, 1]
    assert [drift.degrees for drift in drifts] == [10, 10, 3]
    (low_8, high_8), (low, high) = drifts[0].interval(0.9), drifts[2].interval(0.9)
    assert math.log(high / low) > 1.2 * math.log(high_8 / low_8)


def test_evenings_without_a_minute_like_this_one_do_not_count():
    apart = evenings(random.Random(7), 8, 0.03)
    starts = {(name, at) for name in ("2", "3") for at, _ in apart[name]}
    drift = learned(apart, 120.0, starts)
    assert (drift.evenings, drift.sessions, drift.degrees) == (2, 2, 4)
    assert drift.recorded_s == pytest.approx(2 * (apart["2"][-1][0] - apart["2"][0][0]))
    far_between = {("2", at) for at, _ in (*apart["2"][:3], *apart["2"][-9:-3])}
    assert learned(apart, 120.0, far_between).evenings == 1
