"""A worker's process with children of every kind, as real processes."""

import contextlib
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from cputrain.machine import processes
from cputrain.run import family

HANG_S = 60.0
"""No test waits for so long unless something hangs."""

TREE = """
import os, threading, time
def turn():
    while True:
        time.sleep(0.001)
def live(name):
    threading.Thread(target=turn, daemon=True).start()
    os.write(1, f"{name} {os.getpid()}\\n".encode())
    turn()
if os.fork() == 0:
    if os.fork() == 0:
        live("grandchild")
    live("child")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        live("orphan")
    os._exit(0)
live("leader")
"""
"""A leader, its child and grandchild, and one that left its session and whose parent has ended;
each with two threads."""

BREEDER = """
import os, time
os.write(1, f"leader {os.getpid()}\\n".encode())
while True:
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.003)
        os._exit(0)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""
"""Starts processes that start processes, all the time."""


class Tree:
    """Processes of a made worker.

    Args:
        code: what its leader runs; each process says its name and number.
        names: how many say so.
        mark: of the environment; a new one where left out.

    Attributes:
        pids: process by name.
        family: of the leader.
    """

    def __init__(self, code=TREE, names=4, mark=None):
        family.adopt_orphans()
        self.mark = mark or f"CPUTRAIN_WORKER={uuid.uuid4().hex}"
        name, value = self.mark.split("=")
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            env={**os.environ, name: value},
        )
        said = [self.process.stdout.readline().decode().split() for _ in range(names)]
        self.pids = {name: int(pid) for name, pid in said}
        self.family = family.Family(self.process.pid, self.mark)

    def states(self):
        """The states of all threads, by name."""
        return {name: states(pid) for name, pid in self.pids.items()}

    def end(self):
        """As a worker is ended."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        return self.family.kill()


def states(pid):
    """The states of all threads of a process."""
    letters = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                letters.append((task / "stat").read_text().rpartition(")")[2].split()[0])
    return letters


def descendants(pid):
    """When each process that descends from one started."""
    times, waiting = {}, processes.scanned()(pid)
    children = processes.scanned()
    while waiting:
        descendant = waiting.pop()
        if (since := processes.started(descendant)) is not None:
            times[descendant] = since
        waiting += children(descendant)
    return times


def wait_until(holds, what):
    """Wait for something that takes moments; a test that hangs fails with `what`."""
    end = time.monotonic() + HANG_S
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)
