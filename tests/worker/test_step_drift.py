"""When steps take another time than usual: made step times, and real ones beside a real rival."""

import os
import subprocess
import sys

import pytest
from made_groups import group

from cputrain.paths import PROJECT
from cputrain.record.notices import Usual
from cputrain.worker.training.causes import Counters
from cputrain.worker.training.drift import BLOCKS, IN_A_ROW, MOST, StepTime

QUIET = Counters(5.0, 0.0, 0.0, 0.0, clock_ghz=3.0)
BUSY = Counters(5.0, 0.0, 2.0, 0.0, clock_ghz=3.0)


class Steps:
    """Step times that are made up, and what is told of them."""

    def __init__(self):
        self.told, self.step, self.counters = [], 0, QUIET
        self.watch = StepTime(self.told.append, lambda: self.counters)

    def take(self, steps, seconds):
        for _ in range(steps):
            self.step += 1
            self.watch.stepped(self.step, seconds)

    def windows(self, windows, seconds=1.0):
        self.take(windows * BLOCKS, seconds)


@pytest.fixture
def steps():
    """That have found their usual time of 1 s."""
    steps = Steps()
    steps.take(1, 60.0)  # it compiles
    steps.windows(IN_A_ROW)
    (usual,) = steps.told
    assert usual == Usual(step=1 + IN_A_ROW * BLOCKS, step_s=1.0, is_steady=True)
    steps.told.clear()
    return steps


def test_a_drift_is_told_once_with_its_cause_and_once_when_it_is_over(steps):
    first = steps.step + 1
    steps.counters = BUSY
    steps.windows(IN_A_ROW - 1, 1.5)
    assert steps.told == []
    steps.windows(6, 1.5)
    (drift,) = steps.told
    assert (drift.first, drift.last, drift.ratio) == (first, None, 1.5)
    assert drift.cause == "neighbour" and drift.shares["neighbour"] == pytest.approx(0.4)
    last = steps.step
    steps.counters = QUIET
    steps.windows(IN_A_ROW)
    over = steps.told[1]
    assert (over.first, over.last, over.ratio) == (first, last, 1.5)
    assert over.cause == "neighbour"
    steps.windows(20)
    assert len(steps.told) == 2


@pytest.mark.parametrize("seconds", [1.09, 0.92])
def test_less_than_a_tenth_is_none(steps, seconds):
    steps.windows(30, seconds)
    assert steps.told == []


def test_single_slow_steps_and_short_spells_are_none(steps):
    for _ in range(10):
        steps.take(1, 30.0)  # as after an evaluation
        steps.take(4, 1.0)
        steps.windows(1, 1.5)
        steps.windows(1)
    assert steps.told == []


def test_steps_between_the_two_limits_neither_begin_nor_end_a_drift(steps):
    steps.windows(IN_A_ROW, 1.2)
    steps.windows(10, 1.07)
    assert [drift.last for drift in steps.told] == [None]


def test_faster_steps_are_the_usual_ones_from_then_on_and_tell_what_was_in_the_way():
    steps = Steps()
    steps.counters = BUSY
    steps.take(1, 60.0)
    steps.windows(IN_A_ROW, 1.5)
    steps.counters = QUIET
    steps.windows(IN_A_ROW, 1.0)
    usual, drift = steps.told
    assert isinstance(usual, Usual) and drift.ratio == pytest.approx(1 / 1.5)
    assert drift.cause == "neighbour"
    steps.windows(10)
    assert len(steps.told) == 2
    steps.windows(IN_A_ROW, 1.2)
    assert steps.told[2].usual_s == 1.0


def test_times_that_do_not_settle_have_a_median_and_that_is_told():
    steps = Steps()
    steps.take(1, 60.0)
    for number in range(MOST):
        steps.windows(1, 1.0 + number % 3)
    (usual,) = steps.told
    assert not usual.is_steady and usual.step_s == 2.0


def test_short_steps_are_taken_together_so_that_a_quota_shows():
    """It stops every fourth one for long, and the others not at all."""
    steps = Steps()
    steps.take(1, 60.0)
    steps.take(IN_A_ROW * BLOCKS * 64, 1 / 64)
    (usual,) = steps.told
    assert usual.step_s == 1 / 64
    for _ in range(IN_A_ROW * BLOCKS * 16):
        steps.take(3, 1 / 64)
        steps.take(1, 7 / 64)
    assert steps.told[1].ratio == pytest.approx(2.5, abs=0.1)


REAL = """
import os, sys, time
from settled import settled
from cputrain.record.notices import Drift, Usual
from cputrain.record.process import Placement
from cputrain.worker.training.counters import CounterReader
from cputrain.worker.training.drift import StepTime

if sys.argv[1] == "quota":
    with open(sys.argv[2], "w") as file:
        file.write(str(os.getpid()))
cpu = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpu})

class NoFeed:
    thread_ids = ()

def spin():
    while os.getppid() == parent:
        pass
    os._exit(0)

def slow_down():
    if sys.argv[1] == "quota":
        with open(sys.argv[3], "w") as file:
            file.write(sys.argv[4])
    else:
        others.extend(os.fork() or spin() for _ in range(3))

def say(notice):
    print(notice.cause if isinstance(notice, Drift) else "usual", flush=True)
    if isinstance(notice, Usual):
        slow_down()
    elif notice.ratio > 1:
        for other in others:
            os.kill(other, 9)
        os._exit(0)

parent, others = os.getpid(), []
placement = Placement(cpus=(cpu,), physical_cores=1, threads=1, omp_threads=1)
watch = StepTime(say, CounterReader(settled(threads=1), placement, NoFeed()), block_s=0.2)
end, step = time.monotonic() + 120, 0
while time.monotonic() < end:
    start = time.perf_counter()
    for _ in range(200_000):
        pass
    step += 1
    watch.stepped(step, time.perf_counter() - start)
"""


def told(*words):
    command = [sys.executable, "-c", REAL, *words]
    env = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'tests'}"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_real_rivals_on_the_only_cpu_are_a_neighbour():
    assert told("rivals")[-1] == "neighbour"


def test_a_real_quota_is_a_quota():
    limits = {1: {"cpu.cfs_quota_us": "-1"}, 2: {"cpu.max": "max 100000"}}
    less = {"cpu.cfs_quota_us": "5000", "cpu.max": "5000 100000"}
    with group("cpu", limits) as tasks:
        (file,) = (path for name in less if (path := tasks.with_name(name)).exists())
        assert told("quota", str(tasks), str(file), less[file.name])[-1] == "quota"
