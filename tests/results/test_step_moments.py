"""A run's table of steps as moments: their steps, where the CPUs were, tables that are none."""

import datetime

import polars as pl
import pytest

from cputrain.results.step_moments import StepMoment, read
from cputrain.worker.training.table import Row, Table

pytestmark = pytest.mark.tools
START_S = 1_796_000_000  # a multiple of five


def at(seconds):
    """`seconds` after the start, as a table has it."""
    whole = int(START_S + seconds)
    return datetime.datetime.fromtimestamp(whole, datetime.UTC).isoformat(timespec="seconds")


def row(step, step_s, seconds, **places):
    return Row(step, 4.0, 0.001, step_s, 1 / step_s, None, at=at(seconds), **places)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "progress.csv"


def write(path, rows):
    table = Table(path, done=0)
    for each in rows:
        table.add(each)
    table.flush()


def test_a_moment_is_five_steps_spread_over_five_seconds(path):
    """Of 20 steps in 5 s every fourth: 2 of the 5 are slow, the 15 others are not looked at."""
    slow = {0: 9.0, 4: 9.0, **dict.fromkeys(range(13, 16), 9.0)}
    steps = [row(n + 1, slow.get(n, 0.25), 0.25 * n) for n in range(20)]
    write(path, [*steps, row(21, 0.5, 5.0), row(22, 0.75, 6.0)])
    assert read(path) == [
        StepMoment(START_S, 0.25, None, None),
        StepMoment(START_S + 5.0, 0.625, None, None),
    ]


def test_of_long_steps_each_is_a_moment(path):
    write(path, [row(n + 1, 40.0 + n, 40 * n) for n in range(3)])
    assert [each.step_s for each in read(path)] == [40.0, 41.0, 42.0]


def test_a_moment_is_where_its_window_was(path):
    far = {"round_trip_ns": 345.0, "at_once": 1.0}
    steps = [row(n + 1, 0.5, 0.5 * n, **(far if n == 12 else {})) for n in range(20)]
    write(path, steps)
    assert [(m.round_trip_ns, m.at_once) for m in read(path)] == [(None, None), (345.0, 1.0)]


def test_a_table_of_before_has_moments_without_places(path):
    lines = ["step,loss,step_s,at", *(f"{n},4.0,0.5,{at(0.5 * n)}" for n in range(1, 20))]
    path.write_text("\n".join(lines) + "\n20,4.0,0.")
    moments = read(path)
    assert [m.step_s for m in moments] == [0.5, 0.5]
    assert all(m.round_trip_ns is None and m.at_once is None for m in moments)
    path.write_text("step,loss,step_s\n1,4.0,0.5\n")
    assert read(path) == []


@pytest.mark.parametrize(
    "rest",
    [
        f"1,4.0,x,{at(0)}",
        f"1,4.0,,{at(0)}",
        f"1,4.0,nan,{at(0)}",
        f"1,4.0,0.0,{at(0)}",
        "1,4.0,0.5,",
        "1,4.0,0.5,yesterday",
    ],
)
def test_a_table_that_is_none_is_refused(path, rest):
    path.write_text(f"step,loss,step_s,at\n{rest}\n")
    with pytest.raises((ValueError, pl.exceptions.PolarsError)):
        read(path)
