"""The clock on the wall through changes to and from summer time, new years and far futures."""

import datetime
import time

import pytest

from cputrain.report import clock

pytestmark = pytest.mark.tools
CENTRAL_EUROPE = "CET-1CEST,M3.5.0,M10.5.0/3"
HALF_PAST_TWO = datetime.time(2, 30)


@pytest.fixture(autouse=True)
def in_central_europe(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", CENTRAL_EUROPE)
        time.tzset()
        yield
    time.tzset()


def at(*fields, fold=0):
    return datetime.datetime(*fields, fold=fold)


@pytest.mark.parametrize(
    ("start", "hours", "shown"),
    [
        (at(2026, 10, 24, 18), 12, "Sun 25 Oct 05:00"),
        (at(2027, 3, 27, 18), 12, "Sun 28 Mar 07:00"),
        (at(2026, 10, 25, 2, 30), 2, "03:30"),
        (at(2026, 10, 25, 2, 30, fold=1), 2, "04:30"),
        (at(2026, 11, 22, 18), 2, "20:00"),
        (at(2026, 12, 31, 23, 59), 400 * 24, "Fri 04 Feb 2028 23:59"),
        (at(2026, 12, 31, 23, 59), 1, "Fri 01 Jan 2027 00:59"),
        (at(2026, 11, 22, 18), 1e8, "in 4166667 days"),
        (at(2026, 11, 22, 18), 1e14, "in 4166666666667 days"),
    ],
)
def test_it_shows_what_it_will_show_then(start, hours, shown):
    assert clock.after(hours * 3600, start, "%H:%M") == shown


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (at(2026, 11, 22, 1), at(2026, 11, 22, 2, 30)),
        (at(2026, 11, 22, 2, 30), at(2026, 11, 23, 2, 30)),
        (at(2027, 3, 27, 18), at(2027, 3, 28, 3, 30)),
        (at(2027, 3, 28, 4), at(2027, 3, 29, 2, 30)),
        (at(2026, 10, 25, 1), at(2026, 10, 25, 2, 30)),
        (at(2026, 10, 25, 2, 45), at(2026, 10, 25, 2, 30, fold=1)),
        (at(2026, 10, 25, 2, 45, fold=1), at(2026, 10, 26, 2, 30)),
    ],
)
def test_the_next_moment_of_a_time_is_one_that_there_is(now, then):
    found = clock.next_showing(HALF_PAST_TWO, now)
    assert (found, found.fold) == (then, then.fold)
