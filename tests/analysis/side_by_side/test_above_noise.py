"""What a ratio of engines side by side has to exceed."""

import pytest

from cputrain.analysis.side_by_side.interval import Interval
from cputrain.analysis.side_by_side.ratios import is_above

pytestmark = pytest.mark.tools


@pytest.mark.parametrize(
    ("ratio", "noise", "expected"),
    [
        (Interval(1.10, 1.05, 1.15), 0.03, True),
        (Interval(0.90, 0.85, 0.95), 0.03, True),
        (Interval(1.02, 1.01, 1.03), 0.03, False),  # sure, but within the noise
        (Interval(0.98, 0.97, 0.99), 0.03, False),
        (Interval(1.10, 0.99, 1.22), 0.03, False),  # large, but not sure
        (Interval(1.10, 1.05, 1.15), None, None),
        (None, 0.03, None),
    ],
)
def test_above_noise_needs_both_interval_and_noise(ratio, noise, expected):
    assert is_above(ratio, noise) is expected
