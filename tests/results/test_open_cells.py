"""Which cells may get another pass."""

import pytest
from msgspec import structs

from cputrain.analysis.effects import analyse
from cputrain.analysis.open_cells import candidates, untold
from cputrain.analysis.paired import planning
from cputrain.record.cell import CellKey
from cputrain.results import rows
from cputrain.results.rows import CellResult

pytestmark = pytest.mark.tools


@pytest.fixture
def analysis(project):
    """A/A cells, a cell that is far off, one that is near, and one that is another's."""
    project.suite("Baseline", "copy", ("A", "B", "C"))
    for copy in "ABC":
        project.cell("Baseline", copy, 0.042)
    project.suite("Heads", "n_head", (2, 4, 8))
    project.cell("Heads", 2, 0.084, workers=3)
    (near, *_) = project.cell("Heads", 8, 0.0428, workers=1)
    project.suite("Other", "x", (1, 2))
    project.record("Other", 2, [near.but(id="copy", repeats="Heads/8")])

    return analyse(rows.read(project.root, "here")[0], {})


def test_each_measurement_is_there_once_and_no_identical_cell(analysis):
    chosen = {candidate.key: candidate for candidate in candidates(analysis)}
    assert set(chosen) == {("Heads", "2"), ("Heads", "8")}
    assert chosen["Heads", "8"].effect.passes == 1 and chosen["Heads", "8"].noise is not None
    assert chosen["Heads", "8"].seconds == pytest.approx(30 * 0.042 + 3)
    everything = {candidate.key for candidate in candidates(analysis, with_identical=True)}
    assert everything - set(chosen) == {("Baseline", copy) for copy in "ABC"}


def test_seconds_and_the_session_can_be_given(analysis):
    takes = {("Heads", "8"): 2.5}
    (near,) = (
        candidate
        for candidate in candidates(analysis, seconds=takes)
        if candidate.key == ("Heads", "8")
    )
    assert near.seconds == 2.5
    assert candidates(analysis, session="another") == []


def test_planning_takes_them_as_they_are(analysis):
    chosen = planning.next_pass(candidates(analysis), budget_s=60.0, precision=0.001)
    assert ("Heads", "8") in chosen


def test_a_cell_whose_pairs_were_all_dropped_is_named_once(project):
    project.suite("Heads", "n_head", (2, 4, 8))
    (lost, *_) = project.cell("Heads", 2, 0.084, workers=1)
    project.cell("Heads", 8, 0.0428, workers=1)
    disturbed = [structs.replace(sample, disturbed=True) for sample in lost.samples]
    project.record("Heads", 2, [lost.but(samples=disturbed)])
    known = analyse(rows.read(project.root, "here")[0], {})
    assert untold(known, lost.session) == [("Heads", "2")]
    assert untold(known, "another") == []
    assert ("Heads", "2") not in {candidate.key for candidate in candidates(known)}


def test_without_a_number_nothing_is_open():
    key = CellKey("S", (1,), ("x",), baseline="2")
    failed = CellResult("here", key, "1", "full", "failed", "why")
    assert candidates(analyse([failed], {})) == []
