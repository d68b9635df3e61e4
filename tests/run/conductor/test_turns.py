"""A real worker that is stopped between its turns: what counts for its deadline, how it ends."""

import time

import pytest
from made_cells import BUDGET, NATIVE, is_stopped
from settled import settled

from cputrain.machine import processes
from cputrain.record.requests import WorkerRequest
from cputrain.run import deadline
from cputrain.run.failed import CellFailed
from cputrain.run.launch import Worker

pytest.importorskip("threadpoolctl")
pytest.importorskip("safetensors")
EXPERIMENT = settled(**{**NATIVE, **BUDGET, "deadline_s": 600, "steps": 3})
LONG_S = 10_000.0
ENDLESS = 10**9


class Clock:
    """A deadline's, which a test can put forward."""

    ahead_s = 0.0

    def monotonic(self):
        return time.monotonic() + self.ahead_s


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(deadline, "time", made)
    return made


@pytest.fixture
def start(root):
    """Start a worker; `watch` is called while an answer is waited for."""
    workers = []
    request = WorkerRequest(folder=str(root / "model"), offline=True, model_cap_bytes=0)

    def make(watch=lambda: None, steps=3):
        experiment = EXPERIMENT.but(steps=steps)
        workers.append(Worker(experiment, request, in_turns=True, watch=watch))
        return workers[-1]

    yield make
    for worker in workers:
        worker.end()


def test_a_stopped_worker_does_not_time_out(start, clock):
    worker = start()
    worker.ready()
    for _ in range(3):
        assert is_stopped(worker.process.pid)
        clock.ahead_s += LONG_S
        assert len(worker.sample(beside=True).sample.step_s) == 3
    worker.finish()
    assert worker.left_over is None


def test_one_that_runs_does(start, clock):
    def pass_time():
        clock.ahead_s += passing_s

    passing_s = 0.0
    worker = start(watch=pass_time, steps=ENDLESS)
    worker.ready()
    passing_s = LONG_S
    with pytest.raises(CellFailed, match="after 600 s, while training") as caught:
        worker.sample(beside=True)
    assert caught.value.status == "timed out"
    assert not processes.lives(worker.process.pid)


def test_the_time_of_all_turns_is_counted_and_a_new_cell_gives_it_again(start):
    worker = start()
    worker.ready()
    left_s = worker.deadline.left_s
    assert 0 < left_s < 600
    worker.sample(beside=True)
    assert worker.deadline.left_s < left_s
    worker.renew()
    assert worker.deadline.left_s == 600


def test_what_watches_ends_a_turn(start):
    class Over(Exception):
        pass

    def give_up():
        if over:
            raise Over

    over = False
    worker = start(watch=give_up, steps=ENDLESS)
    worker.ready()
    over = True
    with pytest.raises(Over):
        worker.sample(beside=True)
    worker.end()
    assert processes.started(worker.process.pid) is None


def test_a_worker_that_was_killed_while_it_was_stopped_is_a_reason(start):
    worker = start()
    worker.ready()
    worker.process.kill()
    with pytest.raises(CellFailed, match="killed by SIGKILL while training"):
        worker.sample(beside=True)


def test_a_worker_that_is_not_warm_in_its_time_is_ended(start, clock):
    def late():
        clock.ahead_s += 6.0

    worker = start(watch=late)
    with pytest.raises(CellFailed, match="after 5 s, while ") as caught:
        worker.ready(within_s=5.0)
    assert caught.value.status == "timed out"


def test_the_time_until_it_is_warm_is_not_all_that_it_has(start, clock):
    worker = start()
    worker.ready(within_s=300.0)
    clock.ahead_s += LONG_S
    worker.sample(beside=True)
