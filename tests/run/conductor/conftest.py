"""Runs of cells under a conductor, in a folder of their own."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))  # made_families

from made_cells import TORCH, Run
from roots import take_root

from cputrain import environ


@pytest.fixture(scope="session")
def kept_root(tmp_path_factory):
    """One folder for all runs, so that the native engine is built once."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def root(kept_root, monkeypatch):
    """That folder, without records, under the machine name `here`."""
    take_root(monkeypatch, kept_root)
    shutil.rmtree(kept_root / "output", ignore_errors=True)
    for name in (environ.SESSION, environ.RUN, environ.MODE, environ.EVENTS, environ.CONDUCTOR):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(environ.MACHINE, "here")
    monkeypatch.setenv(environ.OFFLINE, "1")
    return kept_root


@pytest.fixture
def run(root):
    """A conductor, and cells of the native engine."""
    made = Run(root)
    yield made
    made.end()


@pytest.fixture
def torch_run(root):
    """A conductor, and cells of torch, whose workers are forked."""
    pytest.importorskip("torch")
    made = Run(root, TORCH)
    yield made
    made.end()
