"""Cells, and who starts the conductor, as processes that a test can kill."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from made_families import descendants, states, wait_until

from cputrain import environ
from cputrain.machine import processes
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord

SMALL = {"n_layer": 1, "n_embd": 32, "n_head": 2, "threads": 1}
NATIVE = {"engine": "native", **SMALL, "seq_len": 64}
TORCH = {"engine": "torch", **SMALL, "seq_len": 32}
LONG = 40
"""Pairs of a cell that is still running when a test is done with it, some eight seconds. Half
as many are taken again where other tests have the CPUs: of 4 000 pairs the third may never come."""
BUDGET = {"warm_up_steps": 4, "learning_rate": 0.005}

STARTER = """
import sys
from pathlib import Path
from cputrain.run.conductor.client import Listening
listening = Listening(Path(sys.executable), {})
print(listening.path, listening._process.pid, flush=True)
sys.stdin.readline()
listening.close()
print("closed", flush=True)
"""
"""Starts a conductor, as bench.py does; ends it at a word."""

CELL = """
import json, sys
from cputrain.experiment import Experiment
from cputrain.record.cell import CellKey
from cputrain.run.cell import CellRun
from cputrain.run.failed import CellFailed
name, changes, samples = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
base = Experiment().but(**{**changes, "samples": samples})
varied = base.but(seq_len=2 * base.training.seq_len)
cell = CellRun(CellKey("Trial", (name,), baseline="base"), varied, reference=base)
try:
    for number in range(samples):
        cell.sample()
        cell.settle()
        worker = cell.beside.worker
        print("pair", number, cell.record.reference, worker and worker.worker, flush=True)
except CellFailed as failed:
    print("failed", failed.reason, flush=True)
"""
"""A cell that says of each pair which number it has, and who its workers are."""


class Process:
    """A Python program that prints lines.

    Attributes:
        pid: its number.
    """

    def __init__(self, code, *words, **env):
        path = os.pathsep.join(sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, **env},
        )
        self.pid = self._process.pid

    def line(self):
        """The words of its next line."""
        return self._process.stdout.readline().split()

    def rest(self):
        """What else it prints, to its end; each line."""
        lines = self._process.stdout.read().splitlines()
        self._process.wait()
        return lines

    def say(self):
        """Give it the word."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self):
        """Kill it, if it lives."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()


class Run:
    """A conductor that a process of its own has started, and cells one after the other.

    Args:
        root: folder of the run; every process of it has that in its environment.

    Attributes:
        starter: the process that started the conductor.
        conductor: its number.
    """

    def __init__(self, root, changes=NATIVE):
        self.root, self.changes = root, {**BUDGET, **changes}
        self._cells = []
        self.starter = Process(STARTER)
        path, pid = self.starter.line()
        self.path, self.conductor = path, int(pid)
        self._seen = {self.conductor: processes.started(self.conductor)}

    def cell(self, name, samples=3, alone=False):
        """Start a cell; `alone` has a conductor of its own."""
        env = {environ.RUN: "r"}
        if not alone:
            env |= {environ.SESSION: "s", environ.CONDUCTOR: self.path}
        self._cells.append(Process(CELL, name, json.dumps(self.changes), str(samples), **env))
        return self._cells[-1]

    def look(self):
        """Note who descends from the conductor; the workers among them, oldest first."""
        below = descendants(self.conductor)
        self._seen |= below
        return [pid for pid in sorted(below, key=below.get) if self.is_worker(pid)]

    def is_worker(self, pid):
        """Whether a living process has a worker's mark, and is none that forks workers."""
        marked = any(
            word.startswith(environ.WORKER.encode()) for word in processes.environment(pid)
        )
        return marked and processes.lives(pid) and pid not in self.parents()

    def parents(self):
        """Processes that fork workers: children of the conductor that are asked by a socket."""
        pids = []
        for pid in descendants(self.conductor):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                open_files = list(Path(f"/proc/{pid}/fd").iterdir())
                if b"cputrain.worker.parent" in line and any(map(_is_socket, open_files)):
                    pids.append(pid)
        return pids

    def left(self):
        """Processes of this run that are there still."""
        seen = [pid for pid, since in self._seen.items() if processes.started(pid) == since]
        return {*seen, *processes.marked(environ.ROOT, str(self.root))}

    def none_is_left(self, but=None):
        """Wait until no process of this run is left, but one and what this test has started."""
        own = {*(cell.pid for cell in self._cells), self.starter.pid, but}
        wait_until(
            lambda: not [pid for pid in self.left() - own if processes.lives(pid)],
            f"left: {self.left() - own}",
        )

    def descriptors(self):
        """How many files the conductor has open, but for the one to its guard.

        That is started when a worker is first seen to have a child: by chance, where those are
        short-lived.
        """
        guards = 0
        for pid in processes.scanned()(self.conductor):
            with contextlib.suppress(OSError):  # it has ended
                guards += b"cputrain.run.guard" in Path(f"/proc/{pid}/cmdline").read_bytes()
        return len(list(Path(f"/proc/{self.conductor}/fd").iterdir())) - guards

    def end(self):
        """Kill what this test has started, and wait for the rest to go."""
        for process in [*self._cells, self.starter]:
            process.end()
        self.none_is_left()
        shutil.rmtree(Path(self.path).parent, ignore_errors=True)  # where both were killed


def is_stopped(pid):
    """Whether a process lives and all its threads are stopped."""
    return {*states(pid)} == {"T"}


def in_a_pair(run, kill, samples=LONG):
    """A cell in the middle of a pair; its reference's and its own worker's process."""
    cell = run.cell("one", samples)
    while (words := cell.line())[:2] != ["pair", "2"]:
        assert words and words[0] == "pair", words
    time.sleep(random.Random(kill).uniform(0.0, 0.4))
    reference, worker = run.look()
    return cell, reference, worker


def last_record(root, cell):
    """The last worker of a cell's record."""
    return files.read(root / "output/here/Trial" / cell / "run.json", CellRecord, SCHEMA).workers[
        -1
    ]


def goes_on(run, name="two"):
    """The next cell is measured; the name of its reference."""
    lines = [line.split() for line in run.cell(name).rest()]
    assert [words[:2] for words in lines] == [["pair", str(n)] for n in range(3)], lines
    assert last_record(run.root, name).ok
    return lines[0][2]


def ends(run):
    """End a run in order; nothing is left."""
    run.look()
    run.starter.say()
    assert run.starter.line() == ["closed"]
    run.none_is_left()


def _is_socket(link):
    """Whether a process's open file is one; False where it has been closed meanwhile."""
    with contextlib.suppress(OSError):
        return "socket" in str(link.readlink())
    return False
