"""Memory that fills up is told once, and again only after it was far from full."""

import os
import subprocess
import sys

import pytest
from made_groups import group

from cputrain.machine import reading
from cputrain.machine.memory import Use
from cputrain.paths import PROJECT
from cputrain.worker.training.watching import HIGH, LOW, MemoryWatch


class Machine:
    def __init__(self):
        self.used, self.now, self.told = 500, 0.0, []

    def fullest(self):
        if self.used is None:
            raise reading.Unknown("/proc/meminfo: no MemTotal")
        return Use(self.used, 1000, "this machine")

    def watch(self):
        return MemoryWatch(7, self.told.append, self.fullest, lambda: self.now)


@pytest.fixture
def machine():
    return Machine()


def test_what_there_is_is_told_before_the_first_step(machine):
    machine.watch()
    (memory,) = machine.told
    assert (memory.step, memory.used_bytes, memory.limit_bytes) == (7, 500, 1000)
    assert memory.limited_by == "this machine" and not memory.is_high


def test_high_once_and_again_only_after_it_was_low(machine):
    watch = machine.watch()
    shares = [HIGH - 0.01, HIGH, 0.99, LOW, HIGH, LOW - 0.01, HIGH - 0.01, 0.9, 0.9]
    for step, share in enumerate(shares, 8):
        machine.used, machine.now = round(1000 * share), machine.now + 1
        watch.look(step)
    high = [(notice.step, notice.used_bytes) for notice in machine.told if notice.is_high]
    assert high == [(9, 850), (15, 900)]


def test_it_is_looked_at_once_a_second_at_most(machine):
    watch = machine.watch()
    machine.used, machine.now = 900, 0.5
    watch.look(8)
    assert len(machine.told) == 1
    machine.now = 1.0
    watch.look(9)
    assert [notice.step for notice in machine.told] == [7, 9]


def test_memory_that_cannot_be_read_is_said_and_ends_nothing(machine):
    machine.used = None
    watch = machine.watch()
    assert machine.told[0].what == "memory cannot be watched: /proc/meminfo: no MemTotal"
    machine.used, machine.now = 900, 5.0
    watch.look(8)
    assert len(machine.told) == 1


FILLED = """
import os, sys
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
from cputrain.paths import PROJECT
from cputrain.worker.training.watching import MemoryWatch
told, now = [], 0
watch = MemoryWatch(0, told.append, now=lambda: now)
for _ in range(2):
    held, before = [], len(told)
    while len(told) == before:
        held.append(bytearray(b"x" * (4 << 20)))
        now += 1
        watch.look(now)
    del held
    now += 1
    watch.look(now)
for notice in told[1:]:
    print(notice.limit_bytes, notice.is_high, notice.used_bytes < notice.limit_bytes)
"""


def test_a_real_control_group_that_fills_up_is_told():
    limit = 128 << 20
    limits = {1: {"memory.limit_in_bytes": str(limit)}, 2: {"memory.max": str(limit)}}
    with group("memory", limits) as tasks:
        command = [sys.executable, "-c", FILLED, str(tasks)]
        env = {**os.environ, "PYTHONPATH": str(PROJECT)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{limit} {high} True" for high in (True, True)]
