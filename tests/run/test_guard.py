"""What workers have started ends with whoever launched them, killed or not, stopped or not."""

import os
import signal
import subprocess
import sys

import pytest
from made_families import Tree, wait_until

from cputrain.machine import processes
from cputrain.run import guard

LAUNCHER = """
import os, signal, sys, time
from made_families import Tree
from cputrain.run import family, guard
tree = Tree()
{then}
family_pids = " ".join(f"{{name}}={{pid}}" for name, pid in tree.pids.items())
print(family_pids, guard._process and guard._process.pid, flush=True)
sys.stdin.readline()
tree.end()
guard.end()
"""


@pytest.fixture
def launched():
    """Start a launcher; it, the processes of its worker, and its guard's number."""
    started = []

    def start(then):
        launcher = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER.format(then=then)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        started.append(launcher)
        *family, guarding = launcher.stdout.readline().split()
        pids = {name: int(pid) for name, pid in (word.split("=") for word in family)}
        since = {pid: processes.started(pid) for pid in (*pids.values(), int(guarding))}
        return launcher, since

    yield start
    for launcher in started:
        launcher.kill()
        launcher.wait()
        launcher.stdin.close()
        launcher.stdout.close()


def is_left(since):
    """Processes that live still; a zombie may be this process's to wait for."""
    return [p for p, at in since.items() if processes.started(p) == at and processes.lives(p)]


# The leader of these trees is not tied to its launcher as a worker is, and has the mark alone.
@pytest.mark.parametrize("then", ["tree.family.stop()", "tree.family.look()"])
def test_a_killed_launcher_leaves_nothing_stopped_or_not(launched, then):
    launcher, since = launched(then)
    os.kill(launcher.pid, signal.SIGKILL)
    wait_until(lambda: not is_left(since), "something is left")


BARE = """
import os, subprocess, time
bare = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
os.write(1, f"leader {os.getpid()}\\nbare {bare.pid}\\n".encode())
time.sleep(600)
"""


def test_one_that_cleared_its_environment_and_left_its_session_is_found_by_its_number(launched):
    launcher, since = launched(f"tree.end(); tree = Tree({BARE!r}, 2); tree.family.stop()")
    os.kill(launcher.pid, signal.SIGKILL)
    wait_until(lambda: not is_left(since), "something is left")


def test_after_an_orderly_end_there_is_no_guard(launched):
    launcher, since = launched("tree.family.look()")
    launcher.stdin.write("\n")
    launcher.stdin.flush()
    assert launcher.wait(timeout=60) == 0
    assert not is_left(since)


def test_a_guard_that_was_killed_is_started_again_and_told_everything(launched):
    again = (
        "tree.family.look(); guard._process.kill(); guard._process.wait(); "
        "other = Tree(); other.family.look(); tree.pids |= {f'o{n}': p for n, p in "
        "other.pids.items()}; tree.family.stop(); other.family.stop()"
    )
    launcher, since = launched(again)
    assert len(since) == 9
    os.kill(launcher.pid, signal.SIGKILL)
    wait_until(lambda: not is_left(since), "something is left")


def test_a_guard_starts_only_when_there_is_somebody_to_guard():
    guard.end()
    alone = Tree("import os; os.write(1, b'leader %d\\n' % os.getpid()); input()", names=1)
    try:
        alone.family.stop()
        alone.family.resume()
        assert guard._process is None
    finally:
        alone.end()
    tree = Tree()
    try:
        tree.family.look()
        assert processes.lives(guard._process.pid)
        assert os.getsid(guard._process.pid) == guard._process.pid
    finally:
        tree.end()
        guard.end()
    assert guard._process is None


def test_it_kills_no_later_process_of_a_number():
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        guard.kill({stranger.pid: processes.started(stranger.pid) - 1}, ["CPUTRAIN_WORKER=none"])
        assert processes.lives(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


def test_a_guard_that_cannot_start_is_told_and_started_again(monkeypatch, capfd):
    guard.end()
    child = subprocess.Popen(["sleep", "600"])
    since = {child.pid: processes.started(child.pid)}
    try:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", "/bin/false")
            for _ in range(2):  # neither of them writes to the one before
                guard.tell(since, "CPUTRAIN_WORKER=none")
        said = capfd.readouterr().err.splitlines()
        assert len(said) == 2 and said[0] == guard.NO_GUARD.format(status=1)
        assert guard._process is None
        guard.tell({}, "CPUTRAIN_WORKER=none")
        assert processes.lives(guard._process.pid)
        guard._process.stdin.close()  # of this process's end
        wait_until(lambda: not processes.lives(child.pid), "the new guard was not told of it")
    finally:
        child.kill()
        child.wait()
        guard.end()
