"""Intervals on simulated sessions whose truth is known."""

import numpy as np
import pytest

from cputrain.analysis.side_by_side import interval
from cputrain.analysis.side_by_side.interval import Measured

pytestmark = pytest.mark.tools


def cell(rng, step_s, like, workers=2, worker_noise=0.02, step_noise=0.02, steps=30, pool="s"):
    step_times = []
    for _ in range(workers):
        here = step_s * np.exp(worker_noise * rng.standard_normal())
        step_times.append(tuple(here * np.exp(step_noise * rng.standard_normal(steps))))
    return Measured(tuple(step_times), like, pool)


def session(rng, others=14, effect=1.1, spread_of_noise=0.0, **noise):
    """Six identical cells, one that takes `effect` times as long, and others of all sizes."""
    cells = [cell(rng, 0.042, "A/A", **noise) for _ in range(6)]
    cells.append(cell(rng, 0.042 * effect, "slower", **noise))
    for number in range(others):
        here = 0.02 * np.exp(spread_of_noise * rng.standard_normal())
        cells.append(
            cell(rng, np.exp(rng.uniform(-4, 1)), number, **{"worker_noise": here, **noise})
        )
    return cells


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch):
    monkeypatch.setattr(interval, "DRAWS", 1000)


def rates(sessions, **given):
    """How often the truth of equal cells is left out, and that of a slower one found and missed."""
    rng = np.random.default_rng(3)
    false, detected, missed = [], [], []
    for _ in range(sessions):
        *equal, slower = (each.interval for each in interval.estimates(session(rng, **given))[:7])
        detected.append(slower.low > 0.042)
        missed.append(not slower.low <= 1.1 * 0.042 <= slower.high)
        false += [not each.low <= 0.042 <= each.high for each in equal]
    return np.mean(false), np.mean(detected), np.mean(missed)


def test_the_truth_is_left_out_in_about_one_percent_and_a_true_effect_is_found():
    false, detected, missed = rates(60, others=35)
    assert false <= 0.02
    assert detected >= 0.95
    assert missed <= 0.02


def test_cells_that_differ_in_their_noise_do_not_break_the_level():
    false, _, missed = rates(40, spread_of_noise=1.0)
    assert false <= 0.025
    assert missed <= 0.05


def test_the_level_is_not_zero_either():
    """An interval that is far too wide would pass the tests above."""
    rng = np.random.default_rng(4)
    widths = []
    for _ in range(20):
        its = interval.estimates(session(rng, others=30))[0].interval
        widths.append(np.log(its.high / its.low) / 2)
    # Two workers: sd of the log 0.014 (and a little from steps); 99 % is 2.58 of it.
    assert 0.032 < np.median(widths) < 0.053


def test_steps_that_vary_more_than_workers_are_not_counted_twice():
    rng = np.random.default_rng(5)
    noise = {"worker_noise": 0.0, "step_noise": 0.05}
    made = interval.estimates([cell(rng, 1.0, number, **noise) for number in range(40)])
    # A median of 30 steps has sd 1.25 * 0.05 / sqrt(30) = 0.0114; of two workers' 0.0081.
    widths = [np.log(estimate.interval.high / estimate.interval.low) / 2 for estimate in made]
    assert 0.014 < np.median(widths) < 0.03


def test_one_noisy_setting_does_not_widen_the_interval_of_a_quiet_one_by_much():
    rng = np.random.default_rng(6)
    quiet = [cell(rng, 1.0, number) for number in range(20)]
    noisy = [cell(rng, 1.0, f"noisy {number}", worker_noise=0.5) for number in range(2)]
    alone, beside = interval.estimates(quiet), interval.estimates(quiet + noisy)
    widths = [
        np.log(estimate.interval.high / estimate.interval.low) for estimate in (alone[0], beside[0])
    ]
    assert widths[1] < 2.5 * widths[0]


def test_step_time_is_the_median_over_workers_of_medians_over_steps():
    workers = ((1.0, 2.0, 30.0), (4.0, 4.0, 4.0), (5.0, 6.0, 7.0))
    (made,) = interval.estimates([Measured(workers, "one", "s")])
    assert made.step_s == 4.0
    assert made.interval.low <= 4.0 <= made.interval.high


def test_a_single_worker_alone_has_no_interval_and_says_why():
    (made,) = interval.estimates([Measured(((1.0, 1.1),), "one", "s")])
    assert made.interval is None
    assert "too few workers" in made.reason


def test_two_workers_alone_have_no_interval():
    """One difference leaves a spread of anything between nothing and a factor of hundred."""
    (made,) = interval.estimates([Measured(((1.0, 1.1), (1.2, 1.3)), "one", "s")])
    assert made.interval is None


def test_a_single_worker_learns_its_spread_from_the_pool_and_only_from_it():
    rng = np.random.default_rng(8)
    cells = [cell(rng, 1.0, number) for number in range(10)]
    single = cell(rng, 1.0, "single", workers=1)
    other = cell(rng, 1.0, "other", workers=1, pool="t")
    *_, made, lonely = interval.estimates([*cells, single, other])
    assert made.interval is not None
    assert lonely.interval is None


def test_single_workers_of_one_experiment_are_replicates():
    rng = np.random.default_rng(9)
    made = interval.estimates([cell(rng, 1.0, "A/A", workers=1) for _ in range(6)])
    assert all(estimate.interval is not None for estimate in made)


def test_equal_results_give_equal_intervals():
    cells = session(np.random.default_rng(10))
    first, second = interval.estimates(cells), interval.estimates(cells)
    assert [estimate.interval for estimate in first] == [estimate.interval for estimate in second]


def test_workers_that_agree_to_the_last_digit_are_no_error():
    (made,) = interval.estimates([Measured(((1.0, 1.0),) * 3, "one", "s")])
    assert made.interval.low <= 1.0 <= made.interval.high
