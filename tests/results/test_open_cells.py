"""Which cells may get another pass."""

import pytest
from msgspec import structs
from settled import settled

from cputrain.analysis.effects import analyse
from cputrain.analysis.open_cells import candidates, untold
from cputrain.analysis.paired import planning
from cputrain.analysis.pass_seconds import pass_s
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
    worker = next(c.workers[-1] for c in analysis.cells if c.name == "Heads/8")
    assert chosen["Heads", "8"].seconds == pytest.approx(pass_s(worker, chosen["Heads", "8"].pairs))


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
    chosen = planning.next_pass(candidates(analysis), budget_s=60.0)
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


@pytest.mark.parametrize(
    ("changes", "is_steady"),
    [
        ({}, True),
        ({"steady": True, "warm_step_s": 0.05}, True),
        ({"steady": True, "warm_step_s": 0.025}, False),
        ({"steady": True, "warm_step_s": 0.025, "composed": "sum of 2 micro-batches"}, True),
        ({"steady": False, "warm_step_s": 0.05}, False),
    ],
)
def test_a_worker_that_was_not_steady_tells_nothing_alone_and_gets_another_pass(
    project, changes, is_steady
):
    project.suite("Baseline", "copy", ("A", "B", "C"))
    for copy in "ABC":
        project.cell("Baseline", copy, 0.042)
    project.suite("Heads", "n_head", (2, 4, 8))
    (slow, *_) = project.cell("Heads", 2, 0.060, workers=1)
    project.cell("Heads", 8, 0.2, workers=1)

    def known(*workers):
        project.record("Heads", 2, list(workers))
        analysis = analyse(rows.read(project.root, "here")[0], {})
        (row,) = (row for row in analysis.rows if (row["suite"], row["value"]) == ("Heads", "2"))
        return row, untold(analysis, slow.session)

    assert slow.but(**changes).is_steady == is_steady
    row, passes = known(slow.but(**changes))
    assert (row["reason"] is None) == is_steady
    assert row["verdict"] == ("slower" if is_steady else "not told")
    assert passes == ([] if is_steady else [("Heads", "2")])
    assert row["steady"] == (changes.get("steady") and is_steady)
    row, passes = known(slow.but(**changes), slow.but(id="again", started="2026-11-21T12:00:00Z"))
    assert (row["verdict"], passes) == ("slower", []), "another pass tells"


def test_a_reference_that_was_not_steady_tells_nothing_alone_and_gets_another_pass(project):
    """As seen: two of its blocks of three took twice as long as the third, and as any before."""
    project.suite("Baseline", "copy", ("A", "B", "C"))
    for copy in "ABC":
        project.cell("Baseline", copy, 0.042)
    project.suite("Heads", "n_head", (2, 8))
    project.cell("Heads", 8, 0.042)
    (steady, *_) = project.cell("Heads", 2, 0.042, workers=1, reference=0.084)

    def known(*workers):
        project.record("Heads", 2, list(workers))
        analysis = analyse(rows.read(project.root, "here")[0], {})
        (row,) = (row for row in analysis.rows if (row["suite"], row["value"]) == ("Heads", "2"))
        return row, untold(analysis, steady.session)

    row, passes = known(steady)
    assert (row["verdict"], passes) == ("faster", [])
    *_, last = steady.pairs
    usual = structs.replace(last.reference, step_s=[s / 2 for s in last.reference.step_s])
    pairs = [*steady.pairs[:-1], structs.replace(last, reference=usual)]
    changed = steady.but(pairs=pairs)
    assert steady.has_steady_reference and not changed.has_steady_reference
    row, passes = known(changed)
    assert (row["verdict"], passes) == ("not told", [("Heads", "2")])
    assert row["reason"].startswith("the reference beside it was not steady")
    row, passes = known(changed, steady.but(id="again", started="2026-11-21T12:00:00Z"))
    assert (row["verdict"], passes) == ("faster", []), "another pass tells"


def test_without_noise_no_pass_tells_of_a_worker_that_was_not_steady(project):
    project.suite("Framework", "engine", ("torch", "numpy"))
    project.cell("Framework", "torch", 0.042)
    numpy = settled(engine="numpy", attention_backend="manual")
    (slow, *_) = project.cell("Framework", "numpy", 0.060, numpy, workers=1)
    project.record("Framework", "numpy", [slow.but(steady=False)])
    known = analyse(rows.read(project.root, "here")[0], {})
    (row,) = (row for row in known.rows if row["value"] == "numpy")
    assert untold(known, slow.session) == []
    assert (row["verdict"], row["further_passes"]) == ("not told", None)


def test_what_no_noise_comes_near_is_told_by_a_worker_that_was_not_steady(project):
    project.suite("Baseline", "copy", ("A", "B", "C"))
    for copy in "ABC":
        project.cell("Baseline", copy, 0.042)
    project.suite("Heads", "n_head", (2, 4, 8))
    (slow, *_) = project.cell("Heads", 2, 0.42, workers=1)
    project.cell("Heads", 8, 0.042)
    project.record("Heads", 2, [slow.but(steady=False)])
    known = analyse(rows.read(project.root, "here")[0], {})
    assert [row["verdict"] for row in known.rows if row["value"] == "2"] == ["slower"]
    assert untold(known, slow.session) == []
