"""Errors where whole levels are left out, and the interval that they make."""

import numpy as np
import pytest

from cputrain.analysis.cost import errors
from cputrain.analysis.cost.errors import LeftOut
from cputrain.analysis.cost.fit import Expected, Rows, fit

pytestmark = pytest.mark.tools

PRIOR = [1.0, 1.0]


def rows():
    """Twelve cells that cost 1 a unit, and four alike of one level with a cost of 3 of its own."""
    terms = np.array([[1.0 + 0.1 * i, 0.0] for i in range(12)] + [[1.0, 1.0]] * 4)
    return Rows(terms, None, np.log(terms @ [1.0, 3.0]), np.full(16, 0.01))


def learn(some):
    return fit(some, Expected(PRIOR, [0.0, 0.0]), None)


@pytest.mark.parametrize("first", [0.1, 4.0])
def test_what_no_row_tells_stays_near_a_multiple_of_what_they_do(first):
    """Rows of the first term alone; the second is expected to cost 2.5 times as much."""
    terms = np.array([[1.0 + i, 0.0] for i in range(12)])
    known = Rows(terms, None, np.log(terms @ [first, 0.0]), np.full(12, 0.01))
    expected = Expected([1.0, 2.5], [0.0, 0.0], {1: 0})
    assert fit(known, expected, None) == pytest.approx([first, 2.5 * first], rel=0.02)


def test_rows_of_one_level_do_not_vouch_for_each_other():
    """Where single rows are left out, the three others of their level tell its cost."""
    every = rows()
    by_row = errors.by_level(
        every, {"row": {str(i): [i == j for j in range(16)] for i in range(16)}}, learn
    )
    by_level = errors.by_level(every, {"kind": {"own": [i >= 12 for i in range(16)]}}, learn)
    assert max(abs(each.error) for each in by_row) < 0.05
    assert [each.row for each in by_level] == [12, 13, 14, 15]
    assert all(each.error < -0.3 for each in by_level)  # 1 + 1 is predicted and not 1 + 3


def test_a_level_is_not_left_out_where_too_little_is_left():
    every = rows()
    most = [i < 16 - errors.FEWEST + 1 for i in range(16)]
    assert errors.by_level(every, {"kind": {"most": most}}, learn) == []


def test_errors_are_of_rows_as_they_are_asked_for():
    """What is learned from may know more of a row than a prediction does."""
    every = rows()
    as_predicted = Rows(every.terms * 2, None, every.logs, every.sds)
    level = {"kind": {"own": [i < 2 for i in range(16)]}}
    (known, _), (wanted, _) = (
        errors.by_level(every, level, learn, other) for other in (None, as_predicted)
    )
    assert wanted.error == pytest.approx(known.error + np.log(2))


def test_levels_beyond_the_interval_are_named_by_their_median():
    left_out = [LeftOut(i, "kind", "own", error) for i, error in enumerate((-0.1, -0.3, -0.4))]
    left_out += [LeftOut(3, "kind", "calm", 0.1), LeftOut(4, "size", "2", 0.9)]
    assert errors.beyond(left_out, ("kind",), 0.2) == {"kind own": -0.3}
    assert errors.beyond(left_out, ("kind",), None) == {}


def test_the_half_width_is_the_error_that_nine_of_ten_do_not_exceed():
    assert errors.half_width([0.01 * i for i in range(1, 20)]) == pytest.approx(0.18)
    assert errors.half_width([0.1, -0.2]) is None


def test_coverage_judges_a_level_by_the_interval_of_the_others():
    calm = [LeftOut(i, "a", str(i), 0.01) for i in range(30)]
    wild = [LeftOut(30 + i, "b", "x", 0.5) for i in range(10)]
    assert errors.coverage(calm) == 1.0
    assert errors.coverage([*calm, *wild]) == pytest.approx(30 / 40)
    assert errors.coverage(wild) is None
