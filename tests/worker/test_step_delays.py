"""What others held up: threads of a made /proc, and real ones beside a real rival."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cputrain.machine import threads
from cputrain.machine.reading import Unknown
from cputrain.worker.step_delays import StepDelays

SPIN = "import os\nos.sched_setaffinity(0, {%d})\nprint(flush=True)\nwhile True: pass"


class Process:
    """A made process: its threads' time on a CPU and in the run queue, ms, and their CPU."""

    def __init__(self, root, **states):
        self.root = root
        for name, state in states.items():
            self.be(name, *state)

    def be(self, name, used_ms, queued_ms, cpu):
        folder = self.root / "proc/self/task" / name.removeprefix("t")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schedstat").write_text(f"{used_ms}000000 {queued_ms}000000 7\n")
        before = " ".join(["0"] * 36)
        (folder / "stat").write_text(f"1 (a (name) R) {before} {cpu} 0 0\n")


def step(delays, process, **states):
    delays.before_step()
    for name, state in states.items():
        process.be(name, *state)
    delays.after_step()


def test_a_step_is_held_up_by_what_its_most_delayed_thread_waited(tmp_path):
    process = Process(tmp_path, t1=(0, 0, 0), t2=(0, 5, 1))
    delays = StepDelays(2, tmp_path)
    delays.begin()
    step(delays, process, t1=(40, 2, 0), t2=(40, 12, 1))
    step(delays, process, t1=(80, 2, 0), t2=(80, 12, 1))
    assert delays.taken() == [0.007, 0.0]
    delays.begin()  # what was before does not count again
    assert delays.taken() == []
    step(delays, process, t1=(120, 13, 0), t2=(120, 12, 1))
    assert delays.taken() == [0.011]


def test_threads_that_do_not_compute_do_not_count(tmp_path):
    process = Process(tmp_path, t1=(0, 0, 0), t2=(0, 0, 1), t3=(0, 0, 1))
    delays = StepDelays(2, tmp_path)
    delays.begin()
    step(delays, process, t1=(40, 1, 0), t2=(40, 0, 1), t3=(1, 30, 1))
    assert delays.taken() == [0.001]


@pytest.mark.parametrize("shared", ["start", "end"])
def test_threads_on_one_cpu_may_have_waited_for_each_other(tmp_path, shared):
    start, end = (0, 1) if shared == "start" else (1, 0)
    process = Process(tmp_path, t1=(0, 0, 0), t2=(0, 0, start))
    delays = StepDelays(2, tmp_path)
    delays.begin()
    step(delays, process, t1=(40, 20, 0), t2=(40, 20, end))
    assert delays.taken() == [0.0]


def test_a_thread_that_comes_or_goes_meanwhile_tells_nothing_of_that_step(tmp_path):
    process = Process(tmp_path, t1=(0, 0, 0))
    delays = StepDelays(2, tmp_path)
    delays.begin()
    step(delays, process, t1=(40, 3, 0), t2=(40, 9, 1))  # it is read from the next block on
    assert delays.taken() == [0.003]
    delays.begin()
    step(delays, process, t1=(80, 3, 0), t2=(80, 11, 1))
    assert delays.taken() == [0.002]


def test_threads_that_have_ended_are_let_go():
    delays = StepDelays(1)
    for _ in range(3):
        open_before = len([*Path("/proc/self/fd").iterdir()])
        stay = threading.Event()
        thread = threading.Thread(target=stay.wait)
        thread.start()
        delays.begin()
        delays.before_step()
        stay.set()
        thread.join()
        delays.after_step()
        assert len(delays.taken()) == 1
    assert len([*Path("/proc/self/fd").iterdir()]) <= open_before + 2


def test_a_thread_that_ends_while_its_files_are_opened_is_left_out(tmp_path):
    process = Process(tmp_path, t1=(0, 0, 0), t2=(0, 0, 1))
    (tmp_path / "proc/self/task/2/stat").unlink()
    delays, before = StepDelays(1, tmp_path), len([*Path("/proc/self/fd").iterdir()])
    delays.begin()
    step(delays, process, t1=(40, 3, 0))
    assert delays.taken() == [0.003]
    assert len([*Path("/proc/self/fd").iterdir()]) == before + 2


def test_a_kernel_without_counts_is_said(tmp_path):
    (tmp_path / "proc/self/task/1").mkdir(parents=True)
    with pytest.raises(Unknown):
        StepDelays(1, tmp_path)


def test_a_real_rival_on_our_cpu_is_what_the_kernel_counts():
    allowed = os.sched_getaffinity(0)
    cpu, me = min(allowed), threading.get_native_id()
    os.sched_setaffinity(0, {cpu})
    try:
        with subprocess.Popen([sys.executable, "-c", SPIN % cpu], stdout=subprocess.PIPE) as rival:
            rival.stdout.readline()
            delays = StepDelays(1)
            delays.begin()
            before = threads.queued_by_thread()[me]
            delays.before_step()
            end = threads.cpu_time_by_thread()[me] + 100_000_000
            while threads.cpu_time_by_thread()[me] < end:
                pass
            delays.after_step()
            whole = threads.queued_by_thread()[me] - before
            rival.kill()
        (held_up_s,) = delays.taken()
    finally:
        os.sched_setaffinity(0, allowed)
    assert 0 < round(held_up_s * 1e9) <= whole
