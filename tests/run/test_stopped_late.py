"""SIGTERM for a real run whose worker has ended already."""

import os
import signal
import subprocess
from types import SimpleNamespace

import pytest

from cputrain.machine import processes
from cputrain.run import trained_worker


@pytest.fixture
def worker():
    """A worker of one process; what was written to it is not read."""
    process = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE)
    yield SimpleNamespace(process=process, placement=SimpleNamespace(ranks=[]))
    process.kill()
    process.wait()
    process.stdin.close()


@pytest.mark.parametrize("ranks", [[], [0, 1]])
def test_one_that_was_waited_for_is_told_nothing(worker, ranks, monkeypatch):
    worker.placement.ranks = ranks
    since = processes.started(worker.process.pid)
    worker.process.kill()
    worker.process.wait()
    worker.process.stdin.close()
    sent = []
    for name in ("kill", "write"):
        monkeypatch.setattr(os, name, lambda *what: sent.append(what))
    trained_worker._stop(worker, since)
    assert sent == []


def test_a_later_process_of_its_number_is_left_alone(worker):
    since = processes.started(worker.process.pid)
    trained_worker._stop(worker, since - 1)
    with pytest.raises(subprocess.TimeoutExpired):
        worker.process.wait(timeout=0.3)
    trained_worker._stop(worker, since)
    assert worker.process.wait(timeout=60) == -signal.SIGTERM
