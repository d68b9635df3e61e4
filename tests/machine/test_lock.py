"""Who may measure on this machine: one process, whatever it shares with the others."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine import lock

HOLD = "import sys; from pathlib import Path; from cputrain.machine import lock\n" + (
    "try: held = lock.hold(Path(sys.argv[1]))\nexcept Exception as e: print(e, flush=True)\n"
    "else: print('held', flush=True); input()"
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sweep.lock"


@pytest.fixture
def other(path):
    """Starts another process that takes the lock; what it said."""
    started = []

    def start(*before):
        process = subprocess.Popen(
            [*before, sys.executable, "-c", HOLD, str(path)],
            cwd=paths.PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_second_sweep_says_who_is_running(path):
    held = lock.hold(path)
    with pytest.raises(
        UsageError, match=f"process {os.getpid()} in {re.escape(str(Path.cwd()))}: "
    ):
        lock.hold(path)
    held.close()
    lock.hold(path).close()


def test_a_killed_sweep_leaves_the_machine_free(path, other):
    first, said = other()
    assert said == "held"
    with pytest.raises(UsageError, match=f"process {first.pid} in {paths.PROJECT}: .*-c "):
        lock.hold(path)
    first.kill()
    first.wait()
    lock.hold(path).close()


def test_what_a_sweep_starts_does_not_keep_its_lock(path):
    held = lock.hold(path)
    child = subprocess.Popen(["sleep", "600"])
    held.close()
    lock.hold(path).close()
    child.send_signal(signal.SIGKILL)
    child.wait()


def namespaces(*words):
    """Words that run a command in other namespaces, where this user may make them."""
    command = ["unshare", *words]
    if os.geteuid() != 0:
        command.append("--map-root-user")
    if not shutil.which("unshare") or subprocess.run([*command, "true"]).returncode:
        pytest.skip("no namespaces can be made here")
    return command


def test_two_network_namespaces_share_the_machine(path, other):
    held = lock.hold(path)
    _, said = other(*namespaces("--net"))
    assert f"process {os.getpid()} in " in said
    held.close()


def test_who_cannot_be_seen_holds_it_all_the_same(path, other):
    held = lock.hold(path)
    _, said = other(*namespaces("--pid", "--fork", "--mount-proc"))
    assert "a process that cannot be seen from here" in said
    held.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_told_and_takes_it_afterwards(tmp_path, other, monkeypatch):
    path = tmp_path / "open" / "sweep.lock"
    path.parent.mkdir()
    before = os.umask(0o077)
    held = lock.hold(path)
    os.umask(before)
    path.parent.chmod(0o1777)
    words = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    code = f"import fcntl; fcntl.flock(open({str(path)!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    for folder in path.parents[1:-2]:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    told = subprocess.run([*words, "/usr/bin/env", "python3", "-c", code], capture_output=True)
    assert b"BlockingIOError" in told.stderr
    held.close()
    told = subprocess.run([*words, "/usr/bin/env", "python3", "-c", code], capture_output=True)
    assert told.returncode == 0, told.stderr


def test_a_link_is_not_followed_and_a_pipe_makes_nobody_wait(path, tmp_path):
    path.symlink_to(tmp_path / "precious")
    with pytest.raises(UsageError, match=r"sweep\.lock, .*; remove it"):
        lock.hold(path)
    assert not (tmp_path / "precious").exists()
    path.unlink()
    os.mkfifo(path)
    lock.hold(path).close()


def test_a_file_that_was_removed_keeps_nobody_apart(path):
    held = lock.hold(path)
    path.unlink()
    again = lock.hold(path)
    with pytest.raises(UsageError, match="is running on this machine already"):
        lock.hold(path)
    again.close()
    held.close()
