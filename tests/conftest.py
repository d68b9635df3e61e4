"""Tests that write do so in a folder of their own."""

import subprocess
import sys

import hypothesis
import pytest

from cputrain import paths
from cputrain.engines import EngineError
from cputrain.experiment import Experiment
from cputrain.run import placement

SPIN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"

# No test depends on how fast this machine is at the moment.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


@pytest.fixture
def own_root(tmp_path, monkeypatch):
    """Data, output and results in a temporary folder, under the machine name `here`."""
    for name in ("DATA", "OUTPUT", "RESULT", "STATE"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    for name in ("CPUTRAIN_SESSION", "CPUTRAIN_RUN", "CPUTRAIN_MODE", "CPUTRAIN_EVENTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CPUTRAIN_MACHINE", "here")
    monkeypatch.setenv("CPUTRAIN_OFFLINE", "1")
    return tmp_path


@pytest.fixture
def rival():
    """Somebody else on the only CPU of an experiment with cores=1: half of it goes to them."""
    (cpu,) = placement.place(Experiment().but(cores=1)).cpus
    other = subprocess.Popen([sys.executable, "-c", SPIN, str(cpu)])
    yield
    other.kill()
    other.wait()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """What this CPU cannot compute exactly, and the engine refuses for that, is skipped."""
    try:
        return (yield)
    except EngineError as error:
        if "gives wrong sums on this CPU" in str(error):
            pytest.skip(str(error))
        raise
