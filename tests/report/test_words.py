"""Numbers as people read them."""

import math

import pytest

from cputrain.report import words

pytestmark = pytest.mark.tools


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (42.1e-3, "42.1 ms"),
        (1.534, "1.53 s"),
        (0.99999, "1.00 s"),
        (812e-6, "812 µs"),
        (75, "75.0 s"),
    ],
)
def test_step_times(value, expected):
    assert words.seconds(value) == expected


def test_intervals_have_the_digits_of_their_value():
    assert words.ratio(1.532, 1.5, 1.5666) == "1.53x [1.50, 1.57]"
    assert words.ratio(1.004, 0.9981, 1.01) == "1.004x [0.998, 1.010]"
    assert words.ratio(0.51, 0.12, 1075.98) == "0.510x [0.120, 1 080]"
    assert words.ratio(0.25) == "0.250x"
    assert words.ratio(48.34) == "48.3x"
    assert words.ratio(1.2, 1.0043, 1.43) == "1.200x [1.004, 1.430]"
    assert words.ratio(1.13, 0.9971, 1.29) == "1.130x [0.997, 1.290]"
    assert words.ratio(1.13, 1.0, 1.29) == "1.13x [1.00, 1.29]"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(12345, "12 300"), (999.6, "1 000"), (1234567, "1 230 000"), (7.1, "7.10")],
)
def test_numbers(value, expected):
    assert words.number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (42.0, "42 s"),
        (450, "7.5 min"),
        (2280, "38 min"),
        (4680, "78 min"),
        (15840, "4.4 h"),
        (1e6, "12 days"),
    ],
)
def test_durations(value, expected):
    assert words.duration(value) == expected


def test_shares_and_sizes():
    assert (words.percent(0.0131), words.percent(0.417)) == ("1.3 %", "42 %")
    assert (words.size(812 * 2**20), words.size(3e9)) == ("812 MiB", "2.79 GiB")
    assert [words.size(bytes) for bytes in (3.2e5, 0, 5 * 2**20)] == ["0.3 MiB", "0 MiB", "5 MiB"]


def test_axis_ticks():
    assert [words.tick(t) for t in (0.0, 0.05, 1.0, 2.5)] == ["0", "50 ms", "1 s", "2.5 s"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0"), (0.04, "0"), (0.25, "0.2"), (3.0, "3"), (26.4, "26.4"), (1234.5, "1 230")],
)
def test_counts(value, expected):
    assert words.count(value) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
@pytest.mark.parametrize(
    "say", [words.number, words.count, words.seconds, words.ratio, words.duration, words.size,
            words.percent, words.rate]
)  # fmt: skip
def test_what_is_no_number_is_unknown(say, value):
    assert say(value) == "unknown"


def test_an_interval_or_a_share_that_is_unknown_is_left_out():
    assert words.ratio(1.5, math.nan, 1.6) == "1.50x"
    assert words.ratio(1.5, 1.4, math.inf) == "1.50x"
    assert words.rate(97.3, math.nan) == words.rate(97.3, None) == "97.3"
    assert words.rate(97.3, 0.81) == "97.3 (81 %)"


@pytest.mark.parametrize("ends", [(4e-17, 3.75e16), (0.5, 3.75e16), (4e-17, 3.0)])
def test_an_end_that_is_far_from_its_value_has_no_digits(ends):
    beyond = " (interval beyond a factor of 10 000)"
    assert words.ratio(2.1, *ends) == f"2.10x{beyond}"


def test_tokens_are_millions_where_there_is_one():
    assert [words.tokens(count) for count in (1, 256, 999_999, 1_660_000)] == [
        *("1 token", "256 tokens", "1 000 000 tokens", "1.66 million tokens")
    ]


def test_one_of_something_is_no_plural():
    assert words.amount(1.0, "page fault") == "1 page fault"
    assert words.amount(0.0, "page fault") == "0 page faults"
    assert words.amount(2.0, "switch", "es") == "2 switches"
