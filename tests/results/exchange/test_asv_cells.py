"""Cells of asv's results that lack here come from another file, whole; numbers of here stay."""

import math

import pytest

from cputrain.results.exchange import asv_cells
from cputrain.results.exchange.asv_files import COLUMNS

pytestmark = pytest.mark.tools

PARAMS = [["128", "256", "512"], ["'torch'"]]
NAN = math.nan


def row(*values, version="1", **columns):
    """A benchmark's row as asv writes it: what has no number has no statistics either."""
    numbers = [None if value is None or value != value else value for value in values]
    has = any(number is not None for number in numbers)
    each = {name: numbers if has else None for name in COLUMNS if name.startswith("stats_")}
    result = None if all(value is None for value in values) else [*values]
    known = {"result": result, "params": PARAMS, "version": version, **each, **columns}
    made = [known.get(name) for name in COLUMNS]
    while made[-1] is None:
        made.pop()
    return made


def filled(here, other):
    return asv_cells.filled(COLUMNS, here, other)


@pytest.mark.parametrize(
    ("here", "other", "both"),
    [
        (row(1.0, None, NAN), row(2.0, 3.0, 4.0), row(1.0, 3.0, 4.0)),
        (row(None, None, None), row(None, 3.0, None), row(None, 3.0, None)),
        (row(1.0, None, None), row(2.0, NAN, None), row(1.0, NAN, None)),
        (
            row(1.0, None, None),
            row(2.0, 3.0, None, samples=[[2.0], [3.0], None]),
            row(1.0, 3.0, None, samples=[None, [3.0], None]),
        ),
        (
            row(1.0, None, None, samples=[[1.0], None, None], started_at=5, duration=9.0),
            row(None, 3.0, None, started_at=6),
            row(1.0, 3.0, None, samples=[[1.0], None, None], started_at=5, duration=9.0),
        ),
    ],
)
def test_a_cell_that_lacks_here_comes_whole(here, other, both):
    assert filled(here, other) == both
    assert filled(both, other) is None


@pytest.mark.parametrize(
    "other",
    [
        row(2.0, 3.0, None),
        row(None, None, None),
        row(None, None, 4.0, version="2"),
        row(None, None, 4.0, params=[["128", "256", "1024"], ["'torch'"]]),
        row(None, None, 4.0, result=[4.0]),
        row(None, None, 4.0, result="4.0"),
        row(None, None, 4.0, result=[None, None, "4.0"]),
        [],
    ],
)
def test_other_cells_and_what_has_no_more_change_nothing(other):
    assert filled(row(1.0, 2.0, NAN), other) is None


def test_columns_of_another_length_are_as_none():
    got = filled(row(1.0, None, None), row(None, 3.0, None, stats_repeat=[3.0], samples="x"))
    assert got == row(1.0, 3.0, None, stats_repeat=[1.0, None, None])
