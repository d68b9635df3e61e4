import pytest

from cputrain.worker import timing


class FakeClock:
    """A clock that the steps move: each takes the next of `seconds`."""

    def __init__(self, seconds):
        self.now, self.seconds, self.steps = 0, iter(seconds), 0

    def __call__(self):
        return self.now

    def step(self):
        self.now += round(next(self.seconds) * 1e9)
        self.steps += 1


def test_timed_runs_exactly_the_asked_steps_and_times_each():
    clock = FakeClock([0.5, 0.25, 0.125, 9.0])
    assert timing.timed(clock.step, 3, clock) == [0.5, 0.25, 0.125]
    assert clock.steps == 3


def test_time_between_steps_is_not_counted():
    clock = FakeClock([1.0, 1.0])

    def step():
        clock.step()

    first = timing.timed(step, 1, clock)
    clock.now += 10**9
    assert first + timing.timed(step, 1, clock) == [1.0, 1.0]


def test_warm_up_ends_when_a_window_is_no_faster_than_the_one_before():
    falling = [0.09, 0.05, 0.03, *[0.01] * 7]
    clock = FakeClock(falling)
    warm = timing.warm_up(clock.step, most_steps=30, most_s=100, clock=clock)
    assert warm.steady
    # The window before has to have settled too: two of its three steps took 0.01.
    assert warm.step_s == pytest.approx(falling[:8])


def test_one_slow_step_does_not_keep_warm_up_going():
    clock = FakeClock([0.01, 0.01, 0.01, 0.01, 50.0, 0.01])
    assert timing.warm_up(clock.step, 30, 1000, clock).steady


def test_warm_up_is_capped_by_steps():
    clock = FakeClock([2.0**-i for i in range(20)])
    warm = timing.warm_up(clock.step, most_steps=7, most_s=1000, clock=clock)
    assert not warm.steady and clock.steps == 7


@pytest.mark.parametrize(("second", "steady"), [(60.0, True), (50.0, False)])
def test_warm_up_is_capped_by_seconds_but_takes_two_steps(second, steady):
    clock = FakeClock([60.0, second, 60.0])
    warm = timing.warm_up(clock.step, most_steps=30, most_s=3, clock=clock)
    assert warm.steady == steady and clock.steps == 2


def test_of_long_steps_two_will_do():
    clock = FakeClock([5.0, 0.12, 0.118, 0.12, 0.12, 0.12, 0.12])
    warm = timing.warm_up(clock.step, most_steps=30, most_s=10, clock=clock)
    assert warm.steady and clock.steps == 3


@pytest.mark.parametrize(
    ("first", "step", "steady", "steps"),
    [
        (5.0, 5.1, True, 1),  # what it allocates is little of it
        (5.0, 4.0, False, 1),  # one more of three seconds would not be worth it
        (1.5, 1.0, True, 2),
        (0.6, 0.6, True, 2),  # of shorter ones the first step does not count
    ],
)
def test_a_first_step_of_a_second_or_more_is_one_of_the_two(first, step, steady, steps):
    clock = FakeClock([step] * 9)
    warm = timing.warm_up(clock.step, 30, most_s=3, first_s=first, clock=clock)
    assert (warm.steady, clock.steps) == (steady, steps)


@pytest.mark.parametrize(("step", "in_a_row"), [(0.01, 3), (0.5, 1)])
@pytest.mark.parametrize(("change", "steady"), [(0.94, False), (0.96, True), (1.04, True)])
def test_steps_that_get_faster_are_not_steady(step, in_a_row, change, steady):
    assert timing.is_steady([step] * in_a_row + [change * step] * in_a_row) == steady


@pytest.mark.parametrize(("step", "in_a_row"), [(0.01, 3), (0.5, 1)])
def test_steps_that_others_slow_down_are_steady(step, in_a_row):
    assert timing.is_steady([step] * in_a_row + [1.5 * step] * in_a_row)
