"""The order of the suites."""

import pytest

from cputrain.analysis.ranking import rank

pytestmark = pytest.mark.tools


def row(suite, value, step_s, tokens=256, status="ok", above_noise=None):
    rate = tokens / step_s if step_s else None
    return {
        "suite": suite,
        "value": value,
        "status": status,
        "step_s": step_s,
        "tokens_per_s": rate,
        "above_noise": above_noise,
    }


def test_suites_stand_by_slowest_over_fastest():
    rows = [
        row("Small", "a", 1.0, above_noise=False),
        row("Small", "b", 1.1, above_noise=False),
        row("Large", "128", 1.0, tokens=128, above_noise=True),
        row("Large", "512", 8.0, tokens=512, above_noise=False),
        row("Large", "1024", None, status="failed"),
        row("Single", "a", 3.0),
        row("Single", "b", None, status="skipped"),
    ]
    large, small = rank(rows)
    assert (large.suite, large.ratio) == ("Large", 8.0)
    assert (large.fastest["value"], large.slowest["value"]) == ("128", "512")
    assert large.per_token == pytest.approx(2.0)
    assert large.above_noise is True
    assert small.ratio == pytest.approx(1.1)
    assert small.per_token is None
    assert small.above_noise is False


def test_without_a_floor_nothing_is_said_of_noise():
    (one,) = rank([row("S", "a", 1.0), row("S", "b", 2.0)])
    assert one.above_noise is None
