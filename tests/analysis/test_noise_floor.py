"""The noise floor and what stands above it."""

import pytest

from cputrain.analysis.interval import Interval
from cputrain.analysis.noise_floor import floor, is_above


def test_floor_is_the_largest_ratio_less_one():
    assert floor([1.0, 1.02, 0.98]) == pytest.approx(1.02 / 0.98 - 1)


@pytest.mark.parametrize("times", [[], [1.0]])
def test_without_two_cells_there_is_no_floor(times):
    assert floor(times) is None


@pytest.mark.parametrize(
    ("effect", "noise", "expected"),
    [
        (Interval(1.10, 1.05, 1.15), 0.03, True),
        (Interval(0.90, 0.85, 0.95), 0.03, True),
        (Interval(1.02, 1.01, 1.03), 0.03, False),  # sure, but within the floor
        (Interval(0.98, 0.97, 0.99), 0.03, False),
        (Interval(1.10, 0.99, 1.22), 0.03, False),  # large, but not sure
        (Interval(1.10, 1.05, 1.15), None, None),
        (None, 0.03, None),
    ],
)
def test_above_noise_needs_both_interval_and_floor(effect, noise, expected):
    assert is_above(effect, noise) is expected
