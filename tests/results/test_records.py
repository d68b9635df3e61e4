"""Reading run records, whole and broken."""

import json
import os
import socket

import pytest
from made_project import beside, failure, worker

from cputrain.experiment import Experiment
from cputrain.record.cell import CellRecord
from cputrain.results.records import Problem, machines, read, read_file

pytestmark = pytest.mark.tools

USUAL = Experiment()
EVIDENCE = {"optimizer_kernel": "fused", "checkpointed": False, "precision": []}


def names(root, mode="full"):
    records, _ = read(root, "here", mode)
    return [(record.key.suite, record.key.name) for record in records]


def test_sessions_come_newest_first_with_their_workers(project):
    workers = [
        worker(USUAL, [[1.0]], session=name, id=str(number))
        for number, name in enumerate(("old", "old", "new"))
    ]
    path = project.record("SeqLen", 128, workers)
    record = read_file(path)
    assert [[w.id for w in session] for session in record.sessions()] == [["2"], ["0", "1"]]


def test_records_are_found_by_suite_and_cell_and_quick_ones_apart(project):
    project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    project.record("SeqLen", 256, [worker(USUAL, [[1.0]])], mode="quick")
    assert names(project.root) == [("SeqLen", "128")]
    assert names(project.root, "quick") == [("SeqLen", "256")]


def test_what_is_read_is_what_was_written(project):
    made = [worker(USUAL, [[1.0, 2.0], [3.0]]), failure(USUAL, "timed out", "300 s")]
    record = read_file(project.record("SeqLen", 128, made), "here")
    assert record.workers == made
    assert record.workers[0].step_s == [1.0, 2.0, 3.0] and record.workers[1].step_s == []


def test_a_record_cut_off_anywhere_is_a_problem_and_never_a_crash(project):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0, 1.1]])])
    whole = path.read_bytes().rstrip()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert isinstance(read_file(path), Problem)


def changed(path, change):
    """The record in the file, changed as its plain JSON."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def put(*place_and_value):
    """A change of the worker's field at a place."""
    *place, last, value = place_and_value

    def change(content):
        owner = content["workers"][0]
        for name in place:
            owner = owner[name]
        owner[last] = value

    return change


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda c: c.update(schema=1),
            "written by an earlier version: run the suite again, or delete it",
        ),
        (lambda c: c.update(schema=7), "schema 7, and this version reads 6"),
        (lambda c: c.update(schema="2"), "schema '2'"),
        (lambda c: c.update(more=1), "unknown field `more`"),
        (lambda c: c.update(workers=[3]), "$.workers[0]"),
        (lambda c: c.update(workers={"a": 1}), "$.workers"),
        (lambda c: c.update(workers=None), "$.workers"),
        (put("status", "fine"), "$.workers[0].status"),
        (put("status", None), "$.workers[0].status"),
        (put("session", 3), "$.workers[0].session"),
        (put("samples", []), "samples is missing in a worker that is ok"),
        (put("counts", None), "counts is missing in a worker that is ok"),
        (put("trained", None), "trained is missing in a worker that is ok"),
        (put("samples", 0, "step_s", []), "$.workers[0].samples[0].step_s"),
        (put("samples", 0, "step_s", [1.0, -1.0]), "$.workers[0].samples[0].step_s[1]"),
        (put("samples", 0, "step_s", [1.0, float("nan")]), "workers[0].samples[0].step_s[1] = nan"),
        (put("samples", 0, "step_s", [1.0, 1e300]), "$.workers[0].samples[0].step_s[1]"),
        (put("samples", 0, "loss", ["low"]), "$.workers[0].samples[0].loss[0]"),
        (put("samples", 0, "noise", "clock_ghz", "fast"), "noise.clock_ghz"),
        (put("samples", 0, "noise", "minor_faults", True), "noise.minor_faults"),
        (put("samples", 0, "noise", [1]), "$.workers[0].samples[0].noise"),
        (put("phases", "import_s", None), "$.workers[0].phases[...]"),
        (put("phases", "import_s", float("inf")), "workers[0].phases.import_s = inf"),
        (put("counts", "flops_per_step", 10**40), "$.workers[0].counts.flops_per_step"),
        (put("counts", "flops_by_type", "fp32", "many"), "$.workers[0].counts.flops_by_type"),
        (put("placement", "cpus", "all"), "$.workers[0].placement.cpus"),
        (put("peak_rss_bytes", "400 MB"), "$.workers[0].peak_rss_bytes"),
        (put("wall_s", float("nan")), "workers[0].wall_s = nan"),
        (put("commit", ["c"]), "$.workers[0].commit"),
        (put("reason", "\ud800"), "workers[0].reason is no text"),
        (put("versions", "torch", "\udfff"), "workers[0].versions.torch is no text"),
        (put("data", "fingerprint", {}), "$.workers[0].data.fingerprint"),
        (put("experiment", "model", "n_layer", "four"), "experiment: n_layer = 'four'"),
        (put("experiment", "training", "seq_len", 10**30), "$.workers[0].experiment"),
        (put("experiment", "model", "colour", 3), "experiment: model.colour = 3"),
        (put("experiment", None), "$.workers[0].experiment"),
        (put("readings", deep(900)), "$.workers[0].readings"),
        (put("turn", {"round": 1}), "$.workers[0].turn"),
        (put("evidence", ["graphs"]), "$.workers[0].evidence"),
        (put("evidence", EVIDENCE | {"graphs": "1"}), "worker 0: evidence: Expected `int"),
        (put("evidence", EVIDENCE | {"graphs": "1"}), "$.graphs"),
        (put("evidence", EVIDENCE | {"more": 1}), "evidence: Object contains unknown field `more`"),
        (put("evidence", {}), "evidence: Object missing required field `optimizer_kernel`"),
    ],
)
def test_one_bad_field_is_one_line_that_names_the_file_and_the_field(project, change, said):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    changed(path, change)
    problem = read_file(path, "here")
    assert isinstance(problem, Problem)
    assert str(path) in str(problem) and said in problem.reason
    assert "\n" not in str(problem)


@pytest.mark.parametrize("schema", [2, 3, 4, 5, 6])
def test_evidence_is_read_of_every_schema(project, schema):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0]], evidence=EVIDENCE)])
    changed(path, lambda content: content.update(schema=schema))
    assert read_file(path, "here").workers[0].evidence == EVIDENCE


def test_what_is_nested_too_deeply_is_a_problem(project):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0]], readings={})])
    text = path.read_text()
    for depth in (900, 100_000):
        nested = '"readings": {"a": ' + "[" * depth + "]" * depth + "}"
        path.write_text(text.replace('"readings": {}', nested))
        record = read_file(path, "here")
        assert isinstance(record, CellRecord) or "\n" not in str(record)
    assert isinstance(record, Problem)


@pytest.mark.parametrize("content", [b"[]", b"3", b"null", b"\xff\xfe", b'{"schema": 2}', b"{}"])
def test_something_else_entirely_is_a_problem(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    assert isinstance(read_file(path), Problem)


def leaves(value, place=()):
    """Every place of a JSON value."""
    yield place
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*place, name))


BAD = (None, "text", float("nan"), -1, 0, 10**30, 1e300, [], {}, True, "\ud800", "\x1b[31m")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda pair: pair.update(sample=7), "there is no sample 7"),
        (lambda pair: pair["reference"].update(step_s=[1e-7]), "1e6 times as long"),
        (lambda pair: pair.update(first="both"), "$.workers[0].pairs[0].first"),
    ],
)
def test_a_pair_that_cannot_be_is_refused(project, change, said):
    path = project.record("SeqLen", 128, [beside(worker(USUAL, [[1.0]]), 1.0, project.rng)])
    changed(path, lambda content: change(content["workers"][0]["pairs"][0]))
    problem = read_file(path, "here")
    assert isinstance(problem, Problem) and said in problem.reason


@pytest.mark.parametrize("paired", [False, True])
def test_no_bad_value_anywhere_stops_the_tables_of_others(project, paired):
    """Every place of a record, every kind of value: one line, or a record that makes a row."""
    from cputrain.analysis import effects
    from cputrain.results import rows, tables

    project.suite("SeqLen", "seq_len", (128, 256))
    project.cell("SeqLen", 256, 0.04, reference=None)
    made = worker(USUAL.but(seq_len=128), [[1.0, 1.1]], state={}, turn=None)
    if paired:
        made = beside(made, 1.0, project.rng)
    path = project.record("SeqLen", 128, [made])
    whole = json.loads(path.read_text())
    places = [place for place in leaves(whole) if place and ("pairs" in place) is paired]
    assert places
    refused = 0
    for place in places:
        for bad in BAD:
            content = json.loads(json.dumps(whole))
            owner = content
            for name in place[:-1]:
                owner = owner[name]
            owner[place[-1]] = bad
            path.write_text(json.dumps(content))
            cells, problems = rows.read(project.root, "here")
            assert len(problems) <= 1 and len(cells) == 2, (place, bad)
            refused += len(problems)
            for problem in problems:
                assert problem.path == path and "\n" not in str(problem)
                assert next(c for c in cells if not c.ok).status == "failed"
            if not problems:
                said = effects.analyse(cells, {"fp32": {"2": 1e12}})
                tables.frame(said.rows)
    assert refused > len(places) * 5


def test_a_pipe_a_socket_a_folder_or_a_link_is_neither_waited_for_nor_followed(project):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    elsewhere = project.root / "elsewhere.json"
    path.rename(elsewhere)
    makers = (
        lambda: os.mkfifo(path),
        lambda: path.mkdir(),
        lambda: path.symlink_to(elsewhere),
        lambda: path.symlink_to(project.root / "nowhere"),
        lambda: os.chdir(path.parent) or socket.socket(socket.AF_UNIX).bind("run.json"),
    )
    here = os.getcwd()  # noqa: PTH109
    for make in makers:
        make()
        os.chdir(here)
        records, unusable = read(project.root, "here", "full")
        assert records == [] and "not a regular file" in unusable[0].problem.reason
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def test_links_to_folders_are_not_followed(project, tmp_path_factory):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    suites = path.parent.parent.parent
    away = tmp_path_factory.mktemp("away")
    for folder in (path.parent, path.parent.parent, suites):
        moved = away / folder.name
        folder.rename(moved)
        folder.symlink_to(moved)
        assert read(project.root, "here", "full") == ([], [])
        assert machines(project.root)[0] == []
        folder.unlink()
        moved.rename(folder)
    assert machines(project.root)[0] == ["here"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["key"].update(suite="../../evil"), "$.key.suite"),
        (lambda c: c["key"].update(suite="Other"), "it is of 'Other'"),
        (lambda c: c["key"].update(values=[["a"]]), "$.key.values"),
        (lambda c: c["key"].update(values=["../x"]), "lies in the folder of '128'"),
        (lambda c: c["key"].update(values=[]), "$.key.values"),
        (put("machine", "../there"), "it is of '../there'"),
    ],
)
def test_names_are_those_of_the_folders_that_they_were_found_in(project, change, said):
    path = project.record("SeqLen", 128, [worker(USUAL, [[1.0]])])
    changed(path, change)
    problem = read_file(path, "here")
    assert isinstance(problem, Problem) and said in problem.reason


def test_a_machine_cannot_be_called_as_a_folder_of_asv(project):
    project.record("SeqLen", 128, [worker(USUAL, [[1.0]])], machine="asv")
    names, (problem,) = machines(project.root)
    assert names == [] and "no machine can be called asv" in str(problem)
