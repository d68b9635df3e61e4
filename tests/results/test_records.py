"""Reading run records, whole and broken."""

import json

import pytest
from made_project import failure, worker

from cputrain.experiment import Experiment
from cputrain.results.records import Problem, Record, read, read_file, steps

pytestmark = pytest.mark.tools


def test_sessions_come_newest_first_with_their_workers(project):
    workers = [
        worker(Experiment(), [[1.0]], session=name, id=str(number))
        for number, name in enumerate(("old", "old", "new"))
    ]
    path = project.record("SeqLen", 128, workers)
    record = read_file(path)
    assert [[w["id"] for w in session] for session in record.sessions()] == [["2"], ["0", "1"]]


def test_records_are_found_by_suite_and_cell_and_quick_ones_apart(project):
    project.record("SeqLen", 128, [worker(Experiment(), [[1.0]])])
    project.record("SeqLen", 256, [worker(Experiment(), [[1.0]])], mode="quick")
    full, _ = read(project.root / "output" / "here")
    quick, _ = read(project.root / "output" / "here" / "quick")
    assert (list(full), list(quick)) == ([("SeqLen", "128")], [("SeqLen", "256")])


def test_steps_run_through_all_samples():
    assert steps(worker(Experiment(), [[1.0, 2.0], [3.0]])) == [1.0, 2.0, 3.0]
    assert steps(failure(Experiment(), "failed", "why")) == []


def test_a_failed_worker_needs_no_more_than_its_reason(project):
    path = project.record("SeqLen", 128, [failure(Experiment(), "timed out", "300 s")])
    assert isinstance(read_file(path), Record)


def test_a_record_cut_off_anywhere_is_a_problem_and_never_a_crash(project):
    path = project.record("SeqLen", 128, [worker(Experiment(), [[1.0, 1.1]])])
    whole = path.read_bytes().rstrip()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert isinstance(read_file(path), Problem)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"workers": [3]},
        {"workers": {"a": 1}},
        {"workers": [{"session": "s"}]},
        {"workers": [worker(Experiment(), [[1.0, -1.0]])]},
        {"workers": [worker(Experiment(), [["fast"]])]},
        {"workers": [worker(Experiment(), [[]])]},
        {"workers": [worker(Experiment(), [])]},
        {"workers": [worker(Experiment(), [[1.0]], status="fine")]},
        {"workers": [worker(Experiment(), [[1.0]], counts={})]},
        {"workers": [worker(Experiment(), [[1.0]], placement=None)]},
        {"workers": [worker(Experiment(), [[1.0]]) | {"experiment": None}]},
    ],
)
def test_a_record_of_another_shape_is_a_problem_in_one_line(project, change):
    path = project.record("SeqLen", 128, [worker(Experiment(), [[1.0]])])
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    problem = read_file(path)
    assert isinstance(problem, Problem)
    assert str(path) in str(problem)
    assert "\n" not in str(problem)


@pytest.mark.parametrize("content", [b"[]", b"3", b"null", b"\xff\xfe", b'{"schema": 1}'])
def test_something_else_entirely_is_a_problem(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    assert isinstance(read_file(path), Problem)
