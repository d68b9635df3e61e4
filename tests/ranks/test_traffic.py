"""Bytes that the kernel counted on this process's connections, and threads told apart."""

import dataclasses
import socket
import threading
import time

import pytest

from cputrain import watch
from cputrain.experiment import Experiment
from cputrain.knobs import Placement
from cputrain.machine.reading import Unknown
from cputrain.ranks import traffic
from cputrain.watch import Watch


def test_every_byte_is_counted_once():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    peer, _ = server.accept()
    with server, client, peer:
        try:
            before = traffic.sent()
        except Unknown as unknown:
            pytest.skip(str(unknown))
        client.sendall(bytes(150_000))
        peer.sendall(b"x" * 17)
        received = 0
        while received < 150_000:
            received += len(peer.recv(1 << 16))
        assert client.recv(64) == b"x" * 17
        assert traffic.sent() - before == 150_017


def test_a_process_without_connections_says_so(monkeypatch):
    monkeypatch.setattr(traffic.os, "listdir", lambda _: [])
    with pytest.raises(Unknown, match="no TCP connection"):
        traffic.sent()


@pytest.mark.parametrize(("size", "share"), [(1, 0), (2, 1), (4, 1.5), (8, 1.75)])
def test_a_ring_sends_each_byte_twice_but_for_one_share(size, share):
    assert traffic.ring_bytes(1000, size) == 1000 * share


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
    ("name", "found"), [("pt_gloo_runloop", 1), ("gloo_tcp_loop", 1), ("stray", 2)]
)
def test_threads_that_exchange_are_not_taken_for_threads_that_compute(name, found):
    experiment = Experiment().but(threads=1)
    looking = Watch(experiment, one_cpu(), NoFeed())
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
    assert busy.found == found and busy.ok == (found == 1)
    if found == 1:
        assert seen["communication_cpu_s"] > 0.01
    else:
        assert "communication_cpu_s" not in seen


def one_cpu():
    return Placement((0,), 1, 1, 1)


def made_watch(monkeypatch, computing_s, talking_s, used_s):
    """What a watch says of delays and CPU time as given: one thread computes, one exchanges."""
    times = iter([{1: 0, 2: 0}, {1: 10**9, 2: int(used_s * 1e9)}])
    queued = iter([{1: 0, 2: 0}, {1: int(computing_s * 1e9), 2: int(talking_s * 1e9)}])
    walls = iter([0, 10**9])
    real = watch.noise.read

    def read(**arguments):
        return dataclasses.replace(
            real(**arguments), queued_ns=next(queued), wall_ns=next(walls), throttled_s=0.0
        )

    monkeypatch.setattr(watch.noise, "read", read)
    monkeypatch.setattr(watch.noise, "cpu_time_by_thread", lambda: next(times))
    monkeypatch.setattr(watch, "communicating", lambda: {2})
    return Watch(Experiment(), one_cpu(), NoFeed()).seen()[0]


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
