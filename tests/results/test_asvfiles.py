"""Reading what asv's own classes wrote."""

import math

import pytest

from cputrain.results import asvfiles

pytestmark = pytest.mark.tools


def cells(project, machine="here"):
    suites, problems = asvfiles.read(project.root / "result" / "asv", machine)
    assert problems == []
    return {suite.name: {cell.values: cell for cell in suite.cells} for suite in suites}


def only_file(project):
    folder = project.root / "result" / "asv" / "here"
    (path,) = [path for path in folder.glob("*.json") if path.name != "machine.json"]
    return path


def test_values_failures_and_skips_are_told_apart(project):
    project.suite("SeqLen", "seq_len", (128, 256, 512))
    project.suite("Attention", "attention", ("sdpa", "manual"))
    project.result("SeqLen", 128, [0.02, 0.03, 0.04])
    project.result("SeqLen", 256, None)
    project.result("SeqLen", 512, math.nan)
    project.save()
    found = cells(project)
    assert (found["SeqLen"][128,].state, found["SeqLen"][128,].step_s) == ("value", 0.03)
    assert found["SeqLen"][128,].commit == "c" * 40
    assert found["SeqLen"][256,].state == "failed"
    assert found["SeqLen"][512,].state == "absent"
    assert [cell.state for cell in found["Attention"].values()] == ["absent"] * 2
    assert list(found["Attention"]) == [("sdpa",), ("manual",)]


def test_a_suite_that_failed_in_all_its_cells(project):
    project.suite("SeqLen", "seq_len", (128, 256))
    project.result("SeqLen", 128, None)
    project.result("SeqLen", 256, None)
    project.save()
    assert [cell.state for cell in cells(project)["SeqLen"].values()] == ["failed"] * 2


def test_the_newest_commit_that_has_a_value_counts_cell_by_cell(project):
    project.suite("SeqLen", "seq_len", (128, 256, 512))
    for value in (128, 256, 512):
        project.result("SeqLen", value, [1.0])
    project.save(commit="a" * 40, date=1000)
    project.result("SeqLen", 256, [2.0])
    project.result("SeqLen", 512, None)
    project.save(commit="b" * 40, date=2000)
    found = cells(project)["SeqLen"]
    assert [found[v,].step_s for v in (128, 256, 512)] == [1.0, 2.0, None]
    assert [found[v,].commit[0] for v in (128, 256, 512)] == ["a", "b", "b"]
    assert found[512,].state == "failed"


def test_a_value_that_the_suite_did_not_have_then_is_absent_and_not_failed(project):
    project.suite("SeqLen", "seq_len", (128,))
    project.result("SeqLen", 128, [1.0])
    project.save()
    project.suite("SeqLen", "seq_len", (128, 256))
    project.suite("Other", "x", (1,))
    project.result("Other", 1, [1.0])
    project.save(commit="d" * 40, date=2000)
    assert cells(project)["SeqLen"][256,].state == "absent"


def test_results_of_another_version_do_not_count(project):
    project.suite("SeqLen", "seq_len", (128,))
    project.result("SeqLen", 128, [1.0])
    project.save()
    project.suite("SeqLen", "seq_len", (128,), version="2")
    project.suite("Other", "x", (1,))
    project.result("Other", 1, [1.0])
    project.save(commit="d" * 40, date=2000)
    assert cells(project)["SeqLen"][128,].state == "absent"


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.6, 0.9, 0.99])
def test_a_result_file_cut_off_is_a_problem_and_the_others_count(project, keep):
    project.suite("SeqLen", "seq_len", (128,))
    project.result("SeqLen", 128, [1.0])
    project.save()
    path = only_file(project)
    broken = path.with_name("ffffffff-other.json")
    broken.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    suites, problems = asvfiles.read(project.root / "result" / "asv", "here")
    assert suites[0].cells[0].step_s == 1.0
    assert [problem.path for problem in problems] == [broken]
    assert "\n" not in str(problems[0])


@pytest.mark.parametrize("content", ["[]", "3", '{"version": 2}', '{"version": 1, "results": 3}'])
def test_a_result_file_of_another_shape_is_a_problem(project, content):
    project.suite("SeqLen", "seq_len", (128,))
    project.result("SeqLen", 128, [1.0])
    project.save()
    only_file(project).write_text(content)
    suites, problems = asvfiles.read(project.root / "result" / "asv", "here")
    assert suites[0].cells[0].state == "absent"
    assert len(problems) == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2, "a": 3}'])
def test_a_broken_list_of_benchmarks_is_a_problem(project, content):
    project.suite("SeqLen", "seq_len", (128,))
    project.result("SeqLen", 128, [1.0])
    project.save()
    path = project.root / "result" / "asv" / "benchmarks.json"
    path.write_text(content)
    suites, problems = asvfiles.read(path.parent, "here")
    assert suites == []
    assert [problem.path for problem in problems] == [path]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}'])
def test_a_broken_machine_file_is_a_problem(project, content):
    project.suite("SeqLen", "seq_len", (128,))
    project.result("SeqLen", 128, [1.0])
    project.save()
    path = project.root / "result" / "asv" / "here" / "machine.json"
    path.write_text(content)
    facts, problems = asvfiles.machine_facts(path.parent.parent, "here")
    assert facts == {}
    assert [problem.path for problem in problems] == [path]
    suites, _ = asvfiles.read(path.parent.parent, "here")
    assert suites[0].cells[0].state == "absent"


def test_no_results_at_all(tmp_path):
    assert asvfiles.read(tmp_path / "result" / "asv", "here") == ([], [])
    assert asvfiles.machines(tmp_path / "result" / "asv") == []


@pytest.mark.parametrize("last", ["main", "ipex"])
def test_two_environments_of_one_commit_are_read_together(project, last):
    """Each has a file of its own, in which the cells of the other are absent."""
    project.suite("Framework", "engine", ("torch", "ipex", "jax"))
    ipex = {"CPUTRAIN_STACK": "ipex"}
    for stack in ("ipex", "main") if last == "main" else ("main", "ipex"):
        if stack == "main":
            project.result("Framework", "torch", [1.0])
            project.result("Framework", "jax", None)
        else:
            project.result("Framework", "ipex", [2.0])
        project.save(variables=ipex if stack == "ipex" else None)
    folder = project.root / "result" / "asv" / "here"
    assert sorted(path.name for path in folder.glob("c*.json")) == [
        "cccccccc-virtualenv-py3.11-CPUTRAIN_STACKipex.json",
        "cccccccc-virtualenv-py3.11.json",
    ]
    found = cells(project)["Framework"]
    assert [found[v,].step_s for v in ("torch", "ipex", "jax")] == [1.0, 2.0, None]
    assert found["jax",].state == "failed"
