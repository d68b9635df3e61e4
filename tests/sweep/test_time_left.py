"""About how long the rest of a sweep takes."""

import io

import pytest
from rich.console import Console

from cputrain.sweep import time_left
from cputrain.sweep.time_left import FEWEST_S, TimeLeft

pytestmark = pytest.mark.tools


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told to go on."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(time_left, "time", made)
    return made


def test_the_rest_is_corrected_by_what_suites_took(clock):
    left = TimeLeft(Console(file=io.StringIO()))
    expected = {"first": FEWEST_S, "second": 100.0, "third": 50.0}
    left.begin(expected)
    clock.now += 500.0  # building the environment
    left.call()
    clock.now += FEWEST_S / 4
    assert left.suite("first") == sum(expected.values())
    clock.now += FEWEST_S / 4
    left.suite_done("first")
    assert left.suite("second") == pytest.approx(75.0)
    clock.now += 200.0
    left.suite_done("second")
    left.suite_done("second")  # its call ended too
    paces = (FEWEST_S / 2 + 200.0) / (FEWEST_S + 100.0)
    assert left.suite("third") == pytest.approx(50.0 * paces)


def test_of_a_short_beginning_nothing_is_concluded(clock):
    left = TimeLeft(Console(file=io.StringIO()))
    left.begin({"first": FEWEST_S / 2, "second": 100.0})
    left.call()
    clock.now += 1.0
    left.suite_done("first")
    assert left.suite("second") == 100.0


def test_a_sweep_that_stops_before_its_end_has_the_time_until_then(clock):
    left = TimeLeft(Console(file=io.StringIO()))
    left.begin({"first": 100.0, "second": 100.0, "third": 100.0})
    left.stop_at(clock.now + 180.0)
    left.call()
    assert left.suite("first") == 180.0
    clock.now += 100.0
    left.suite_done("first")
    assert left.suite("second") == 80.0
    clock.now += 90.0
    left.suite_done("second")
    assert left.suite("third") == 1.0


def test_on_a_terminal_there_is_one_bar_and_none_is_left_at_the_end(clock):
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=80)
    left = TimeLeft(console)
    for number in (1, 2):
        left.begin({f"of pass {number}": 100.0})
        left.call()
        left.suite(f"of pass {number}")
        left.suite_done(f"of pass {number}")
        start = len(text.getvalue())
        console.print("a line")
        assert text.getvalue()[start:].count("left") == 1
    left.close()
    start = len(text.getvalue())
    console.print("the end")
    assert "left" not in text.getvalue()[start:]
    hidden, shown = (text.getvalue().count(f"\x1b[?25{end}") for end in "lh")
    assert hidden == shown == 2  # the cursor
