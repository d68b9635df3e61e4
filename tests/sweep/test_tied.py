"""What builds an environment ends with its caller, also where that is killed."""

import subprocess
import sys
import time

import psutil
import pytest

from cputrain import paths

pytestmark = pytest.mark.tools

CALLER = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
SWEEP = paths.PROJECT / "cputrain" / "sweep"


@pytest.fixture
def packages(tmp_path):
    """What takes two processes seconds to compile."""
    for number in range(8):
        (tmp_path / f"long_{number}.py").write_text("x = 1 + 2 + x\n" * 50_000)
    return tmp_path


def ends_with_its_caller(words, count, runs):
    """Whether `count` processes, those that the words start, have ended soon after their caller.

    The caller is killed once the first of them has come to `runs`, a word of its command.
    """
    caller = psutil.Popen([sys.executable, "-c", CALLER, *map(str, words)])
    end = time.monotonic() + 30
    while len(started := caller.children(recursive=True)) < count or runs not in words_of(started):
        assert caller.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    caller.kill()
    caller.wait()
    _, alive = psutil.wait_procs(started, timeout=5)
    for process in alive:
        process.kill()
    return alive == []


def words_of(processes):
    return processes[0].cmdline() if processes else []


def test_a_module_that_is_run_tied():
    words = [SWEEP / "tied.py", "timeit", "-n", "1", "while True: pass"]
    assert ends_with_its_caller(words, 1, runs="-m")


def test_what_compiles_packages_and_its_pool(packages):
    assert ends_with_its_caller([SWEEP / "bytecode.py", packages], 3, runs=str(packages))


def test_what_is_tied_gives_back_its_module_s_status():
    words = [sys.executable, SWEEP / "tied.py", "pip", "install", "--no-such-flag"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2 and "no such option" in done.stderr
