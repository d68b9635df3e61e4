"""Who disturbed a sample, and which threads computed in it."""

import dataclasses
import threading
import time

import pytest
from settled import settled

from cputrain.machine.noise import Ticks
from cputrain.record.process import Placement
from cputrain.worker import watch
from cputrain.worker.watch import Watch


class NoFeed:
    thread_ids = ()


def spin(name, seconds):
    """A thread of that name that works for some CPU time."""

    def work():
        with open("/proc/thread-self/comm", "w") as file:  # noqa: PTH123
            file.write(name)
        begun.set()
        while time.thread_time() < seconds:
            pass
        done.wait()

    begun, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    return thread, done


@pytest.mark.parametrize(
    ("name", "busy_threads"), [("pt_gloo_runloop", 1), ("gloo_tcp_loop", 1), ("stray", 2)]
)
def test_threads_that_exchange_are_not_taken_for_threads_that_compute(name, busy_threads):
    experiment = settled(threads=1)
    looking = Watch(experiment, single_cpu(), NoFeed())
    thread, done = spin(name, 0.05)
    try:
        while time.thread_time() < 0.1:
            pass
        begin = time.thread_time()
        while time.thread_time() - begin < 0.05:
            pass
        assert (thread.native_id in watch.communicating()) == (name != "stray")
        seen, busy = looking.seen()
    finally:
        done.set()
        thread.join()
    assert busy.actual == busy_threads and busy.ok == (busy_threads == 1)
    if busy_threads == 1:
        assert seen["communication_cpu_s"] > 0.01
    else:
        assert "communication_cpu_s" not in seen


def single_cpu():
    return Placement((0,), 1, 1, 1)


def made_watch(monkeypatch, computing_s, talking_s, used_s):
    """What a watch says of delays and CPU time as given: one thread computes, one exchanges."""
    times = iter([{1: 0, 2: 0}, {1: 10**9, 2: int(used_s * 1e9)}])
    queued = iter([{1: 0, 2: 0}, {1: int(computing_s * 1e9), 2: int(talking_s * 1e9)}])
    walls = iter([0, 10**9])
    real = watch.noise.read

    def read(**arguments):
        return dataclasses.replace(
            real(**arguments), queued_ns=next(queued), wall_ns=next(walls), throttled_s={"job": 0.0}
        )

    monkeypatch.setattr(watch.noise, "read", read)
    monkeypatch.setattr(watch.threads, "cpu_time_by_thread", lambda: next(times))
    monkeypatch.setattr(watch, "communicating", lambda: {2})
    return Watch(settled(), single_cpu(), NoFeed()).seen()[0]


@pytest.mark.parametrize(
    ("computing_s", "talking_s", "used_s", "disturbed"),
    [
        (0.2, 0.0, 0.2, False),  # it waited while the other thread ran
        (0.2, 0.0, 0.1, True),  # and while somebody else did
        (0.0, 0.9, 0.1, False),  # the other one waits for the one that computes
        (0.3, 0.9, 0.0, True),
    ],
)
def test_waiting_for_one_s_own_threads_is_no_disturbance(
    monkeypatch, computing_s, talking_s, used_s, disturbed
):
    seen = made_watch(monkeypatch, computing_s, talking_s, used_s)
    assert seen["disturbed"] == disturbed
    assert seen["communication_cpu_s"] == pytest.approx(used_s)
    waited_s = computing_s - used_s  # all of it in one second
    assert seen["lost_share"] == pytest.approx(max(0.0, waited_s))


JAX = {"engine": "jax", "compile": "xla", "threads": 1}


@pytest.mark.parametrize(
    ("changes", "threads", "busy_ticks", "disturbed"),
    [
        ({"threads": 1}, 1, 0, True),  # its thread waited, whoever it was for
        (JAX, 1, 0, False),  # XLA's threads waited for one another
        (JAX, 1, 6, False),  # which may be rounding
        (JAX, 1, 12, True),
        ({"threads": 2}, 2, 0, False),  # more threads than CPUs
        ({"threads": 2}, 2, 12, True),
    ],
)
def test_where_threads_wait_for_one_another_others_cpu_time_counts(
    monkeypatch, changes, threads, busy_ticks, disturbed
):
    """A second in which every thread waited long; somebody else used the CPU for some ticks."""
    here = watch.noise.read(cpus=(0,))
    second, tick_s = 10**9, watch.threads.TICK_NS / 1e9
    start = dataclasses.replace(
        here, wall_ns=0, queued_ns={1: 0}, ticks=Ticks(0, 0, 0), throttled_s={"job": 0.0}
    )
    busy = round(busy_ticks * 0.01 / tick_s)
    end = dataclasses.replace(
        start, wall_ns=second, queued_ns={1: second}, ticks=Ticks(0, busy, round(1 / tick_s))
    )
    readings = iter([start, end])
    monkeypatch.setattr(watch.noise, "read", lambda **_: next(readings))
    placed = Placement((0,), 1, threads, threads)
    seen, _ = Watch(settled(**changes), placed, NoFeed()).seen()
    assert seen["others_cpu_s"] == pytest.approx(busy * tick_s)
    assert seen["disturbed"] == disturbed


def test_what_a_quota_holds_back_is_a_share_of_the_time_of_all_cpus(monkeypatch):
    """Half a second on each of two CPUs, which the kernel adds up."""
    here, second = watch.noise.read(cpus=(0,)), 10**9
    start = dataclasses.replace(here, wall_ns=0, queued_ns={1: 0}, throttled_s={"job": 1.0})
    end = dataclasses.replace(start, wall_ns=second, throttled_s={"job": 2.0})
    readings = iter([start, end])
    monkeypatch.setattr(watch.noise, "read", lambda **_: next(readings))
    seen, _ = Watch(settled(threads=2), Placement((0, 1), 2, 2, 2), NoFeed()).seen()
    assert seen["throttled_s"] == 1.0 and seen["disturbed"]
    assert seen["lost_share"] == pytest.approx(0.5)
