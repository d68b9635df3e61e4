"""Cells as their run records tell them."""

import pytest
from made_project import failure, worker

from cputrain.experiment import Experiment
from cputrain.record.worker import step_s
from cputrain.results import rows

pytestmark = pytest.mark.tools

USUAL = Experiment()


def read(project, machine="here"):
    project.save()
    cells, problems = rows.read(project.root, machine)
    return {(cell.suite, cell.value): cell for cell in cells}, problems


@pytest.fixture
def lengths(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    return project


def test_a_cell_is_what_its_workers_measured(lengths):
    made = lengths.cell("SeqLen", 128, 0.02, USUAL.but(seq_len=128))
    cells, problems = read(lengths)
    cell = cells["SeqLen", "128"]
    assert (cell.status, cell.reason, cell.mode, problems) == ("ok", None, "full", [])
    assert list(cell.workers) == made and cell.step_s == step_s(made)
    assert (cell.values, cell.param_names, cell.key.baseline) == ((128,), ("seq_len",), "256")
    assert list(cells) == [("SeqLen", "128")]  # what never ran has no row


def test_the_number_is_the_median_over_samples_as_asv_takes_it():
    made = [worker(USUAL, [[1.0, 2.0, 9.0], [3.0]]), worker(USUAL, [[4.0, 4.0]])]
    assert step_s(made) == 3.0
    assert step_s([failure(USUAL, "failed", "why")]) is None


def test_the_newest_session_that_was_proven_is_taken(lengths):
    old = [worker(USUAL, [[1.0, 1.0]], session="old")]
    proven = [worker(USUAL, [[2.0, 2.0]], session="proven") for _ in range(2)]
    cut_short = [worker(USUAL, [[3.0, 3.0]], session="cut short", status="unproven")]
    lengths.record("SeqLen", 128, old + proven + cut_short)
    cells, _ = read(lengths)
    cell = cells["SeqLen", "128"]
    assert {w.session for w in cell.workers} == {"proven"}
    assert (cell.status, cell.step_s) == ("ok", 2.0)
    assert "the newest was not run to its end" in cell.reason


def test_a_number_without_its_proof_is_never_ok(lengths):
    lengths.record("SeqLen", 128, [worker(USUAL, [[3.0, 3.0]], status="unproven")])
    half = [worker(USUAL, [[3.0]]), worker(USUAL, [[9.0]], status="unproven", id="1")]
    lengths.record("SeqLen", 256, half)
    cells, _ = read(lengths)
    cell = cells["SeqLen", "128"]
    assert (cell.status, cell.step_s) == ("unproven", None)
    assert "nothing shows that the model trained" in cell.reason
    cell = cells["SeqLen", "256"]  # of an earlier pass there is one
    assert (cell.status, cell.step_s, len(cell.workers)) == ("ok", 3.0, 1)
    assert cell.reason.startswith("1 of 2 passes gave no number: not run to its end")


def test_what_was_cut_off_and_has_failed_for_it_is_a_failure(lengths):
    """The cell's process died after its first sample, and the sweep has recorded that."""
    old = worker(USUAL, [[1.0]], session="old")
    cut_off = worker(USUAL, [[3.0]], session="new", status="unproven")
    died = failure(USUAL, "failed", "its process ended", session="new")
    lengths.record("SeqLen", 128, [old, cut_off, died])
    lengths.record("SeqLen", 256, [old, died, cut_off])
    cells, _ = read(lengths)
    cell = cells["SeqLen", "128"]
    assert (cell.status, cell.reason, cell.step_s) == ("failed", "its process ended", None)
    assert (cells["SeqLen", "256"].status, cells["SeqLen", "256"].step_s) == ("ok", 1.0)


def test_a_failure_has_the_reason_of_its_newest_session(lengths):
    old = worker(USUAL, [[1.0]], session="old")
    new = failure(USUAL, "timed out", "no answer in 300 s", session="new")
    lengths.record("SeqLen", 128, [old, new])
    cell = read(lengths)[0]["SeqLen", "128"]
    assert (cell.status, cell.reason, cell.step_s) == ("timed out", "no answer in 300 s", None)


def test_a_failure_without_a_reason_is_still_a_failure(lengths):
    lengths.record("SeqLen", 128, [failure(USUAL, "failed", None)])
    cell = read(lengths)[0]["SeqLen", "128"]
    assert cell.status == "failed" and cell.reason


@pytest.mark.parametrize("order", [1, -1])
def test_a_failed_pass_is_said_and_does_not_take_the_number_of_another(lengths, order):
    good = worker(USUAL, [[1.0, 1.0]])
    bad = worker(USUAL, [[9.0, 9.0]], status="failed", reason="the loss did not fall")
    lengths.record("SeqLen", 128, [good, bad][::order])
    cell = read(lengths)[0]["SeqLen", "128"]
    assert (cell.status, cell.step_s, cell.workers) == ("ok", 1.0, (good,))
    assert cell.reason == "1 of 2 passes gave no number: failed: the loss did not fall"


def test_workers_of_other_sessions_are_kept_apart(lengths):
    old = worker(USUAL, [[2.0]], session="old")
    bad = worker(USUAL, [[9.0]], session="old", status="failed", reason="why")
    lengths.record("SeqLen", 128, [old, bad, worker(USUAL, [[1.0]])])
    quick = worker(USUAL, [[3.0]], session="quick")
    lengths.record("SeqLen", 128, [quick], mode="quick")
    cell = read(lengths)[0]["SeqLen", "128"]
    assert cell.step_s == 1.0
    assert [(w.session, w.ok) for w in cell.earlier] == [("old", True), ("quick", True)]


def test_a_skip_has_its_reason_and_one_after_a_value_replaces_it(lengths):
    skip = failure(USUAL, "skipped", "4 CPUs asked, only 2 allowed", session="new")
    lengths.record("SeqLen", 128, [skip])
    lengths.record("SeqLen", 256, [worker(USUAL, [[1.0]], session="old"), skip])
    cells, _ = read(lengths)
    for value in ("128", "256"):
        cell = cells["SeqLen", value]
        assert (cell.status, cell.reason) == ("skipped", "4 CPUs asked, only 2 allowed")


def test_a_truncated_record_is_a_failed_cell_with_the_reason(lengths):
    lengths.cell("SeqLen", 128, 0.02)
    path = lengths.record("SeqLen", 256, [failure(USUAL, "failed", "why")])
    path.write_text(path.read_text()[:50])
    cells, problems = read(lengths)
    assert cells["SeqLen", "128"].ok
    cell = cells["SeqLen", "256"]
    assert cell.status == "failed" and "run record not usable" in cell.reason
    assert (cell.param_names, cell.key.baseline, cell.workers) == (("seq_len",), "256", ())
    assert [problem.path for problem in problems] == [path]


def test_quick_cells_stand_in_only_where_no_full_one_ran(lengths):
    lengths.cell("SeqLen", 128, 0.02)
    lengths.cell("SeqLen", 128, 0.03, mode="quick", workers=1)
    lengths.cell("SeqLen", 256, 0.04, mode="quick", workers=1)
    cells, _ = read(lengths)
    assert cells["SeqLen", "128"].mode == "full"
    assert cells["SeqLen", "128"].step_s == pytest.approx(0.02, rel=0.1)
    assert cells["SeqLen", "256"].mode == "quick"
    assert list(cells) == [("SeqLen", "128"), ("SeqLen", "256")]


def test_a_full_failure_is_not_hidden_by_a_quick_value(lengths):
    lengths.record("SeqLen", 128, [failure(USUAL, "failed", "why")])
    lengths.cell("SeqLen", 128, 0.03, mode="quick", workers=1)
    assert read(lengths)[0]["SeqLen", "128"].status == "failed"


def test_cells_come_in_the_suite_s_order(project):
    project.suite("Cores", "cores", ("all", 16, 2))
    for value in (2, 16, "all"):
        project.cell("Cores", value, 0.02)
    assert [value for _, value in read(project)[0]] == ["all", "16", "2"]


def test_records_of_engines_side_by_side_are_in_a_table_of_their_own(lengths):
    lengths.record("engines", "Framework-torch-2", [worker(USUAL, [[1.0]])])
    assert read(lengths)[0] == {}
