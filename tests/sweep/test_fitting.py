"""What of a call fits into the time that is left."""

import pytest
from found_suites import ALL

from cputrain.sweep.fitting import fit

pytestmark = pytest.mark.tools

BY_NAME = {planned.name: planned for planned in ALL}
TWO = [BY_NAME["Design"], BY_NAME["Dropout"]]


def fitted(left_s, cell_s=lambda planned, cell: 2.0, seconds=(100.0, 10.0)):
    suites_s = {planned.key: s for planned, s in zip(TWO, seconds, strict=True)}
    return fit(TWO, suites_s, cell_s, left_s)


def test_suites_that_fit_run_whole():
    fitting = fitted(111.0)
    assert fitting.suites == TWO and fitting.whole == ["Design", "Dropout"]
    assert fitting.left_out == []


def test_a_suite_that_is_too_long_runs_in_part_and_the_next_run_takes_it_up():
    fitting = fitted(40.0)
    part, *others = fitting.suites
    assert part.name == "Design" and 0 < len(part.cells) < len(BY_NAME["Design"].cells)
    assert 2.0 * len(part.cells) <= 40.0
    assert part.cells == BY_NAME["Design"].cells[: len(part.cells)]
    assert fitting.left_out == TWO and fitting.whole == [] and others == []
    assert fitting.in_part == ["Design"]


def test_no_cell_is_taken_before_one_that_is_left_out():
    """A warm start needs what the cold one has compiled."""
    long = BY_NAME["Design"].cells[3].name
    fitting = fitted(40.0, lambda planned, cell: 60.0 if cell.name == long else 2.0)
    names = [cell.name for cell in fitting.suites[0].cells]
    assert names == [cell.name for cell in BY_NAME["Design"].cells[:3]]


def test_what_is_shorter_than_the_suite_before_it_still_fits():
    fitting = fitted(30.0, lambda planned, cell: 40.0)
    assert [planned.name for planned in fitting.suites] == ["Dropout"]
    assert fitting.whole == ["Dropout"] and fitting.left_out == [BY_NAME["Design"]]


def test_a_further_pass_has_no_suite_in_part():
    fitting = fitted(40.0, None)
    assert [planned.name for planned in fitting.suites] == ["Dropout"]
