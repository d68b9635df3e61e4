"""Which environment a file's tests run in; tests that write do so in a folder of their own.

A file says by `pytestmark` where its libraries are: `stack` (asv's environment, also of files that
say nothing), `tools` (venv/) or `ipex`. Files of other environments are not even imported.
"""

import ast
import subprocess
import sys
import weakref
from pathlib import Path

import hypothesis
import pytest
from lease_here import LeaseHere
from made_machines import bare, server, tree  # noqa: F401
from roots import take_root

from cputrain import environ
from cputrain.engines import EngineError
from cputrain.experiment import Experiment
from cputrain.run import beside, placement
from cputrain.run.conductor.client import Lease, Listening

ENVIRONMENTS = ("stack", "tools", "ipex")
SPIN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"

# No test depends on how fast this machine is at the moment.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


def pytest_addoption(parser):
    parser.addoption("--environment", choices=ENVIRONMENTS, help="take only the files for this one")
    parser.addoption("--kills", type=int, default=1, help="kill each process so many times")
    parser.addoption("--faults", type=int, default=2, help="fill a sweep's disk so many times")


def pytest_generate_tests(metafunc):
    if "kill" in metafunc.fixturenames:
        metafunc.parametrize("kill", range(metafunc.config.getoption("--kills")))
    if "fault" in metafunc.fixturenames:
        metafunc.parametrize("fault", range(metafunc.config.getoption("--faults")))


def environments(path: Path) -> set[str]:
    """The environments that a file is marked for."""
    marks = [
        node.value
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    names = {n.attr for mark in marks for n in ast.walk(mark) if isinstance(n, ast.Attribute)}
    return names & {*ENVIRONMENTS} or {"stack"}


def is_of_others(path: Path, here: str | None) -> bool:
    """Whether a file, or all that lies in a folder, is for other environments than `here`."""
    files = path.rglob("test_*.py") if path.is_dir() else [path] if path.suffix == ".py" else []
    files = [file for file in files if file.exists()]  # pytest names what is not there
    return bool(here and files and not any(here in environments(file) for file in files))


def pytest_configure(config):
    """Leave out what was named and is of others: pytest takes it for mistyped, and runs nothing."""
    here = config.getoption("environment")
    if config.args_source is config.ArgsSource.ARGS:
        paths = {arg: config.invocation_params.dir / arg.partition("::")[0] for arg in config.args}
        config.args = [arg for arg in config.args if not is_of_others(paths[arg], here)]


def pytest_ignore_collect(collection_path, config):
    return True if is_of_others(collection_path, config.getoption("environment")) else None


def pytest_collection_modifyitems(items):
    """Trial sweeps first, as they take longest: half of them in each half of the list.

    xdist gives each of two processes a half, and short tests are shared out better at the end.
    """
    trials = [item for item in items if "trial" in item.fixturenames]
    others = [item for item in items if "trial" not in item.fixturenames]
    first = len(trials) // 2
    short = max(0, len(items) // 2 - first)
    items[:] = trials[:first] + others[:short] + trials[first:] + others[short:]


@pytest.fixture
def own_root(tmp_path, monkeypatch):
    """Data, output and results in a temporary folder, under the machine name `here`."""
    take_root(monkeypatch, tmp_path)
    for name in (environ.SESSION, environ.RUN, environ.MODE, environ.EVENTS, environ.CONDUCTOR):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(environ.MACHINE, "here")
    monkeypatch.setenv(environ.OFFLINE, "1")
    return tmp_path


@pytest.fixture(scope="session")
def standing(tmp_path_factory):
    """A conductor for all tests of this process: torch is imported once for all forked workers."""
    with pytest.MonkeyPatch.context() as patch:
        take_root(patch, tmp_path_factory.mktemp("standing"))
        conductor = Listening(Path(sys.executable), {})
    yield str(conductor.path)
    conductor.close()


@pytest.fixture
def leased(own_root, standing, monkeypatch):
    """As `own_root`, but cells lease their workers from that conductor.

    Its folder has their data and built libraries, and no variable that a test sets reaches them.
    """
    leases = weakref.WeakSet()  # a test's next cell waits until its last one's is closed

    def leasing():
        lease = Lease()
        leases.add(lease)
        return lease

    monkeypatch.setenv(environ.CONDUCTOR, standing)
    monkeypatch.setattr(beside, "Lease", leasing)
    yield own_root
    for lease in list(leases):  # that of a failed test is kept by its traceback
        lease.close()


@pytest.fixture
def here(monkeypatch):
    """Cells lease their workers from this process: what a test changes in it is so for them too."""
    monkeypatch.setattr(beside, "Lease", LeaseHere)
    yield
    while LeaseHere.made:  # its thread would keep pytest from ending
        LeaseHere.made.pop().close()


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
