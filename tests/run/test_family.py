"""Real processes of every descent: stopped, continued and ended together, and nobody else."""

import errno
import os
import signal
import subprocess
import time

import pytest
from made_families import BREEDER, Tree, descendants, states, wait_until

from cputrain.machine import processes
from cputrain.run import family


@pytest.fixture(params=["listed", "scanned"])
def lists(request, monkeypatch):
    """With a kernel that lists children, and with one that does not."""
    if request.param == "listed" and not processes.LISTED:
        pytest.skip("this kernel does not list a thread's children")
    monkeypatch.setattr(processes, "LISTED", request.param == "listed")


@pytest.fixture
def tree():
    made = Tree()
    yield made
    made.end()


def test_all_threads_of_all_of_them_are_stopped_then_go_on(lists, tree):
    for _ in range(3):
        tree.family.stop()
        assert set(tree.states()) == {"leader", "child", "grandchild", "orphan"}
        assert all(s == ["T", "T"] for s in tree.states().values()), tree.states()
        assert all(map(tree.family.has, {*tree.pids.values()} - {tree.process.pid}))
        tree.family.resume()
        assert not [s for s in tree.states().values() if "T" in s]


@pytest.mark.parametrize("stopped", [False, True])
def test_all_of_them_are_ended_and_waited_for(lists, stopped):
    tree = Tree()
    if stopped:
        tree.family.stop()
    assert {*tree.end()} == {*tree.pids.values()} - {tree.process.pid}
    assert not [pid for pid in tree.pids.values() if processes.started(pid) is not None]
    assert tree.end() == []


def test_nobody_runs_on_who_was_born_while_the_others_were_stopped(lists):
    breeder = Tree(BREEDER, names=1)
    try:
        for _ in range(10):
            breeder.family.stop()
            everybody = {breeder.process.pid: 0} | descendants(breeder.process.pid)
            marked = processes.marked(*breeder.mark.split("="))
            for pid in {*everybody, *marked}:
                assert {*states(pid)} <= {"T", "Z"}, pid
            breeder.family.resume()
            time.sleep(0.01)
    finally:
        breeder.end()
    family.reap()
    assert processes.marked(*breeder.mark.split("=")) == []


def test_a_sibling_with_the_same_mark_is_left_alone(lists, tree):
    tree.family.look()  # as at the end of its turn
    other = Tree(mark=tree.mark)
    other.family.stop()
    assert not [s for s in tree.states().values() if "T" in s]
    other.end()
    assert len(tree.states()) == 4 and not [s for s in tree.states().values() if len(s) != 2]
    tree.family.stop()
    assert all(s == ["T", "T"] for s in tree.states().values())


STRANGER = (
    "import os, time; child = os.fork(); "
    "os.write(1, b'stranger %d\\n' % os.getpid()); time.sleep(600)"
)


def test_a_number_that_another_process_has_by_now_is_not_touched(lists, tree):
    """Neither are its children, of an other one's number as of the leader's."""
    stranger = Tree(STRANGER, names=2, mark="CPUTRAIN_WORKER=another")
    pid = stranger.process.pid
    try:
        tree.family._others[pid] = processes.started(pid) - 1
        tree.family.stop()
        assert "T" not in states(pid) and pid not in tree.family._others
        gone = family.Family(pid, tree.mark)
        gone._since -= 1
        gone.stop()
        gone.kill()
        everybody = [pid, *descendants(pid)]
        assert len(everybody) == 2
        assert all(processes.lives(member) and "T" not in states(member) for member in everybody)
        assert processes.send(pid, processes.started(pid) - 1, signal.SIGKILL) is False
        assert processes.lives(pid)
    finally:
        stranger.end()


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_without_handles_of_processes_they_are_signalled_by_number(monkeypatch, number):
    """Of kernels before 5.3, and in containers whose profile is as old."""

    def refused(pid, flags=0):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pidfd_open", refused)
    own = subprocess.Popen(["sleep", "600"])
    try:
        since = processes.started(own.pid)
        assert processes.send(own.pid, since - 1, signal.SIGKILL) is False
        assert processes.lives(own.pid) and processes.send(own.pid, since, signal.SIGKILL)
        own.wait(10)
        processes.wait(own.pid, 600.0)
    finally:
        own.kill()
        own.wait()


def test_children_of_this_process_without_the_mark_are_not_touched(tree):
    own = subprocess.Popen(["sleep", "600"])
    try:
        tree.family.stop()
        tree.end()
        assert processes.lives(own.pid) and "T" not in states(own.pid)
    finally:
        own.kill()
        own.wait()


def test_both_ways_to_find_children_agree(tree):
    if not processes.LISTED:
        pytest.skip("this kernel does not list a thread's children")
    tree.family.stop()
    scanned = processes.scanned()
    for pid in (os.getpid(), *tree.pids.values()):
        assert sorted(processes.listed(pid)) == sorted(scanned(pid))
    assert processes.listed(1 << 30) == scanned(1 << 30) == []


def test_orphans_that_end_by_themselves_do_not_stay_as_zombies():
    tree = Tree()
    tree.family.look()
    orphan = tree.pids["orphan"]
    os.kill(orphan, signal.SIGKILL)
    wait_until(lambda: not processes.lives(orphan), "it does not die")
    tree.end()
    assert processes.started(orphan) is None
