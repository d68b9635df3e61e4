"""Cells of asv's results that lack here come from another file, whole, and so do later passes."""

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
            row(1.0, 3.0, None, samples=[[1.0], None, None], started_at=6),
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


FIRST, SECOND = [1.0, 1.1], [0.8, 0.9]
"""Samples of two passes."""


def passes(value, samples, started_at):
    """A benchmark of which one cell has a number, by the samples of some passes."""
    return row(value, None, NAN, samples=[samples, None, None], started_at=started_at)


@pytest.mark.parametrize("here_at", [5, 6, 7])
def test_a_number_that_passes_were_added_to_comes_and_is_not_taken_back(here_at):
    here, other = passes(1.05, FIRST, here_at), passes(0.95, FIRST + SECOND, 6)
    assert filled(here, other) == passes(0.95, FIRST + SECOND, max(here_at, 6))
    assert filled(other, here) is None


def test_of_two_numbers_of_other_passes_the_later_one_counts():
    earlier, later = passes(1.05, FIRST, 5), passes(0.85, SECOND, 6)
    assert filled(earlier, later) == later
    assert filled(later, earlier) is None
    assert filled(passes(1.05, FIRST, 5), passes(1.05, FIRST, 6)) is None


@pytest.mark.parametrize("samples", ["x", [[1.0]], [{}]])
def test_numbers_whose_samples_are_none_count_by_when_they_began(samples):
    earlier, later = passes(1.05, FIRST, 5), passes(0.85, samples, 6)
    assert filled(earlier, later) == later
    assert filled(later, earlier) is None


def test_columns_of_another_length_are_as_none():
    got = filled(row(1.0, None, None), row(None, 3.0, None, stats_repeat=[3.0], samples="x"))
    assert got == row(1.0, 3.0, None, stats_repeat=[1.0, None, None])
