"""What is taken from asv's own files."""

import pytest

from cputrain.results import asvfiles

pytestmark = pytest.mark.tools


@pytest.fixture
def asv(project):
    """asv's files of one machine."""
    project.suite("SeqLen", "seq_len", (128, 256))
    project.suite("Depth", "n_layer", (2, 4))
    project.cell("SeqLen", 128, 0.02)
    project.save(machine={"cores": "2"})
    return project


def test_its_machines_suites_and_facts(asv):
    assert asvfiles.machines(asv.root) == ["here"]
    assert asvfiles.suites(asv.root) == (["Depth", "SeqLen"], [])
    facts, problems = asvfiles.machine_facts(asv.root, "here")
    assert problems == [] and (facts["cpu"], facts["cores"]) == ("AMD EPYC", "2")


def test_nothing_at_all(tmp_path):
    assert asvfiles.machines(tmp_path) == []
    assert asvfiles.suites(tmp_path) == ([], [])
    assert asvfiles.machine_facts(tmp_path, "here") == ({}, [])


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"version": 2, "x": 1}'])
def test_damaged_files_are_one_line_each(asv, content):
    folder = asv.root / "result" / "asv"
    (folder / "benchmarks.json").write_text(content)
    (folder / "here" / "machine.json").write_text(content)
    names, (problem,) = asvfiles.suites(asv.root)
    assert names == [] and problem.path == folder / "benchmarks.json"
    facts, (other,) = asvfiles.machine_facts(asv.root, "here")
    assert facts == {} and other.path == folder / "here" / "machine.json"
    assert all("\n" not in str(line) for line in (problem, other))


def test_a_folder_that_is_a_link_is_nobody_s(asv, tmp_path_factory):
    away = tmp_path_factory.mktemp("away") / "here"
    folder = asv.root / "result" / "asv" / "here"
    folder.rename(away)
    folder.symlink_to(away)
    assert asvfiles.machines(asv.root) == []
