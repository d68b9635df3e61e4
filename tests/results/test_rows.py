"""asv's values joined with the run records."""

import math

import pytest
from made_project import failure, worker

from cputrain.experiment import Experiment
from cputrain.results import rows

pytestmark = pytest.mark.tools


def read(project, machine="here"):
    project.save()
    cells, problems = rows.read(project.root, machine)
    return {(cell.suite, cell.value): cell for cell in cells}, problems


@pytest.fixture
def lengths(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    return project


def test_a_value_is_joined_with_the_workers_that_took_it(lengths):
    made = lengths.cell("SeqLen", 128, 0.02, Experiment().but(seq_len=128))
    found, problems = read(lengths)
    cell = found["SeqLen", "128"]
    assert (cell.status, cell.reason, cell.mode, problems) == ("ok", None, "full", [])
    assert list(cell.workers) == made
    assert cell.values == (128,)
    rest = found["SeqLen", "256"]
    assert (rest.status, rest.reason, rest.mode) == ("skipped", "not run", None)


def test_the_newest_session_that_has_the_value_is_taken(lengths):
    old = [worker(Experiment(), [[1.0, 1.0]], session="old")]
    match = [worker(Experiment(), [[2.0, 2.0]], session="match") for _ in range(2)]
    cut_short = [worker(Experiment(), [[3.0, 3.0]], session="cut short")]
    lengths.record("SeqLen", 128, old + match + cut_short)
    lengths.result("SeqLen", 128, [2.00004, 2.00004])
    found, _ = read(lengths)
    assert {w["session"] for w in found["SeqLen", "128"].workers} == {"match"}


def test_a_value_without_its_session_is_shown_and_says_so(lengths):
    lengths.record("SeqLen", 128, [worker(Experiment(), [[1.0]])])
    lengths.result("SeqLen", 128, [1.001])
    lengths.result("SeqLen", 256, [1.0])
    found, _ = read(lengths)
    assert found["SeqLen", "128"].workers == ()
    assert "no session of the run record has it" in found["SeqLen", "128"].reason
    assert "no run record" in found["SeqLen", "256"].reason


def test_a_failure_has_the_reason_of_its_newest_session(lengths):
    lengths.record(
        "SeqLen",
        128,
        [
            worker(Experiment(), [[1.0]], session="old"),
            failure(Experiment(), "timed out", "no answer in 300 s", session="new"),
        ],
    )
    lengths.result("SeqLen", 128, None)
    found, _ = read(lengths)
    cell = found["SeqLen", "128"]
    assert (cell.status, cell.reason) == ("timed out", "no answer in 300 s")
    assert cell.step_s is None


def test_a_failure_without_a_reason_is_still_a_failure(lengths):
    lengths.result("SeqLen", 128, None)
    found, _ = read(lengths)
    assert found["SeqLen", "128"].status == "failed"
    assert found["SeqLen", "128"].reason


def test_one_failed_worker_spoils_a_value(lengths):
    good = worker(Experiment(), [[1.0, 1.0]])
    bad = worker(Experiment(), [[1.0, 1.0]], status="failed", reason="the loss did not fall")
    lengths.record("SeqLen", 128, [good, bad])
    lengths.result("SeqLen", 128, [1.0])
    found, _ = read(lengths)
    cell = found["SeqLen", "128"]
    assert (cell.status, cell.reason, cell.step_s) == ("failed", "the loss did not fall", None)


def test_a_skip_has_its_reason_and_one_after_a_value_replaces_it(lengths):
    skip = failure(Experiment(), "skipped", "4 CPUs asked, only 2 allowed", session="new")
    old = worker(Experiment(), [[1.0]], session="old")
    lengths.record("SeqLen", 128, [skip])
    lengths.result("SeqLen", 128, math.nan)
    lengths.record("SeqLen", 256, [old, skip])
    lengths.result("SeqLen", 256, [1.0])
    found, _ = read(lengths)
    for value in ("128", "256"):
        cell = found["SeqLen", value]
        assert (cell.status, cell.reason) == ("skipped", "4 CPUs asked, only 2 allowed")


def test_a_suite_cut_short_has_records_and_no_number(lengths):
    lengths.record("SeqLen", 128, [worker(Experiment(), [[1.0]])])
    lengths.result("SeqLen", 256, [1.0])
    found, _ = read(lengths)
    assert found["SeqLen", "128"].status == "skipped"
    assert "cut short" in found["SeqLen", "128"].reason


def test_a_truncated_record_shows_in_its_cell(lengths):
    lengths.cell("SeqLen", 128, 0.02)
    path = lengths.record("SeqLen", 256, [failure(Experiment(), "failed", "why")])
    lengths.result("SeqLen", 256, None)
    path.write_text(path.read_text()[:50])
    cut = path.parent.parent / "128" / "run.json"
    cut.write_text(cut.read_text()[:500])
    found, problems = read(lengths)
    assert "not usable" in found["SeqLen", "128"].reason
    assert found["SeqLen", "128"].workers == ()
    assert found["SeqLen", "256"].status == "failed"
    assert "not usable" in found["SeqLen", "256"].reason
    assert {problem.path for problem in problems} == {path, cut}


def test_quick_cells_stand_in_only_where_no_full_one_ran(lengths):
    lengths.cell("SeqLen", 128, 0.02)
    lengths.cell("SeqLen", 128, 0.03, mode="quick", workers=1)
    lengths.cell("SeqLen", 256, 0.04, mode="quick", workers=1)
    found, _ = read(lengths)
    assert found["SeqLen", "128"].mode == "full"
    assert found["SeqLen", "128"].step_s == pytest.approx(0.02, rel=0.1)
    assert found["SeqLen", "256"].mode == "quick"
    assert list(found) == [("SeqLen", "128"), ("SeqLen", "256")]


def test_a_full_failure_is_not_hidden_by_a_quick_value(lengths):
    lengths.record("SeqLen", 128, [failure(Experiment(), "failed", "why")])
    lengths.result("SeqLen", 128, None)
    lengths.cell("SeqLen", 128, 0.03, mode="quick", workers=1)
    found, _ = read(lengths)
    assert found["SeqLen", "128"].status == "failed"


def test_two_parameters_make_one_value(project):
    project.suite("Pair", "engine", ("torch", "numpy"))
    project.benchmarks["Pair"]["params"].append(["64", "128"])
    project.benchmarks["Pair"]["param_names"].append("n_embd")
    project.result("Pair", "torch", math.nan)
    found, _ = read(project)
    assert [value for _, value in found] == ["torch-64", "torch-128", "numpy-64", "numpy-128"]


def test_machines_are_found_in_all_places(project):
    project.suite("SeqLen", "seq_len", (128,))
    project.cell("SeqLen", 128, 0.02, machine="full")
    project.cell("SeqLen", 128, 0.02, machine="fast", mode="quick")
    project.save()
    project.record("SeqLen", 128, [worker(Experiment(), [[1.0]])], machine="records")
    project.record("SeqLen", 128, [worker(Experiment(), [[1.0]])], machine="q", mode="quick")
    (project.root / "result" / "tables-only").mkdir()
    assert rows.machines(project.root) == ["fast", "full", "q", "records"]
