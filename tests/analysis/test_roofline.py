"""The limit that a part is at, against cases that make each of them false."""

import pytest

from cputrain.analysis.roofline import Limits

pytestmark = pytest.mark.tools


@pytest.mark.parametrize(
    "peak_s, bandwidth_s, dispatch_s, limit, share",
    [
        (0.8, 0.2, 0.1, "products", 0.8),
        (0.2, 0.9, 0.1, "memory", 0.9),
        (0.1, 0.2, 0.6, "dispatch", 0.6),
        (0.4, 0.49, 0.1, "none", 0.49),
        (0.5, 0.4, None, "products", 0.5),
        (None, None, None, "none", None),
        (None, 0.6, None, "memory", 0.6),
        (0.0, 0.0, 0.7, "dispatch", 0.7),
        # Faster than memory: the numbers were in a cache, and memory is no limit.
        (0.0, 1.5, 0.1, "cache", 1.5),
        (0.7, 1.5, 0.1, "products", 0.7),
        (None, 1.5, None, "cache", 1.5),
        # The measured peak may be lower than what is reached.
        (1.1, 0.3, None, "products", 1.1),
    ],
)
def test_limit(peak_s, bandwidth_s, dispatch_s, limit, share):
    limits = Limits(1.0, peak_s, bandwidth_s, dispatch_s)
    assert (limits.limit, limits.share) == (limit, share)
    half = [None if s is None else s / 2 for s in (peak_s, bandwidth_s, dispatch_s)]
    assert Limits(0.5, *half).limit == limit


def test_a_part_without_time_is_at_none():
    assert (Limits(0.0, 0.0, 0.0, 0.0).limit, Limits(0.0, 1.0, 1.0, 1.0).share) == ("", None)


def test_bytes_that_fit_into_no_cache_came_from_memory_however_fast_they_came():
    """652 MB beside 480 MB of caches: the measured bandwidth was too low, no cache helped."""
    assert Limits(1.0, None, 1.2, None, fits_cache=False).limit == "memory"
    assert Limits(1.0, None, 1.2, None, fits_cache=True).limit == "cache"
