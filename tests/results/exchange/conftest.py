"""A packed file of a small machine, and where it comes in."""

import json

import pytest
from made_packs import FACTS, packed
from made_project import Project
from settled import settled


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A packed file of a small machine."""
    project = Project(tmp_path_factory.mktemp("sent"))
    project.suite("SeqLen", "seq_len", (128, 256))
    project.cell("SeqLen", 128, 0.02, settled().but(seq_len=128))
    project.cell("SeqLen", 256, 0.04)
    project.save(machine={"cores": "2"})
    return packed(project, project.root)


@pytest.fixture
def clone(tmp_path):
    """Where it is to come in: a folder in a folder, to see what would be written beside it."""
    (tmp_path / "clone").mkdir()
    return tmp_path / "clone"


@pytest.fixture
def no_registry(monkeypatch, tmp_path_factory):
    """asv's list of machines is empty."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture
def sent(sweep, tmp_path_factory):
    """A whole sweep of a machine whose facts are known, and where files of it go."""
    asvs = sweep.root / "result" / "asv" / "here" / "machine.json"
    asvs.write_text(json.dumps(json.loads(asvs.read_text()) | FACTS))
    return sweep, tmp_path_factory.mktemp("sent")
