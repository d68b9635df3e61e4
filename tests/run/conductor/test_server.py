"""What the conductor answers, word by word, over real connections with real workers."""

import json
import os
import signal
import socket
import time
from pathlib import Path

import psutil
import pytest
from made_cells import BUDGET, NATIVE, TORCH, is_stopped
from made_families import wait_until
from settled import settled

from cputrain import environ
from cputrain.machine import processes
from cputrain.record.requests import WorkerRequest
from cputrain.run.conductor.client import Lease
from cputrain.run.conductor.protocol import (
    End,
    Ended,
    Expect,
    Refer,
    Start,
    Started,
    Take,
    Taken,
)
from cputrain.run.failed import CellFailed

pytest.importorskip("threadpoolctl")
pytest.importorskip("safetensors")
EXPERIMENT = settled(**NATIVE, **BUDGET)


@pytest.fixture
def lease(run, monkeypatch):
    """Open leases of the run's conductor."""
    monkeypatch.setenv(environ.CONDUCTOR, run.path)
    opened = []

    def open_lease():
        opened.append(Lease())
        return opened[-1]

    yield open_lease
    for opened_lease in opened:
        opened_lease.close()


@pytest.fixture
def asks(root):
    """The words to ask for a reference and for a worker."""
    request = WorkerRequest(folder=str(root / "model"), offline=True, model_cap_bytes=0)

    def make(kind, experiment=EXPERIMENT, run="r Trial"):
        return kind(run=run, experiment=experiment.to_json(), request=request)

    return make


def test_a_reference_s_proof_is_told_until_a_cell_has_gone_on(lease, asks):
    """The first cell may be killed before it has written the reference's record."""
    first_lease = lease()
    first = first_lease.ask(asks(Refer), Started)
    assert first.proof.trained.parameters_moved > 0
    first_lease.close()
    second_lease = lease()
    second = second_lease.ask(asks(Refer), Started)
    assert second == first
    second_lease.ask(asks(Start), Started)
    second_lease.close()
    third = lease().ask(asks(Refer), Started)
    assert (third.worker, third.proof) == (first.worker, None)


def test_a_reference_of_another_run_is_ended(run, lease, asks):
    opened = lease()
    first = opened.ask(asks(Refer), Started)
    (reference,) = run.look()
    assert opened.ask(asks(Refer), Started).worker == first.worker
    assert opened.ask(asks(Refer, run="r Other"), Started).worker != first.worker
    assert not processes.lives(reference) and len(run.look()) == 1


def test_one_runs_at_a_time_and_all_are_stopped_between(run, lease, asks):
    opened = lease()
    names = [opened.ask(asks(Refer), Started).worker, opened.ask(asks(Start), Started).worker]
    assert [is_stopped(pid) for pid in run.look()] == [True, True]
    for name in (*names, *reversed(names)):
        taken = opened.ask(Take(worker=name, beside=True), Taken)
        assert taken.sampled.sample.step_s and taken.sampled.sample.tries == 1
        assert [is_stopped(pid) for pid in run.look()] == [True, True]
    opened.ask(End(worker=names[1]), Ended)
    assert len(run.look()) == 1


def test_nothing_of_whoever_started_it_is_in_a_worker_s_reach(run, lease, asks):
    """asv waits for whatever holds its output, and kills its own group."""
    lease().ask(asks(Start), Started)
    (worker,) = run.look()
    mine = {open_files(run.starter.pid)[n] for n in ("0", "1")}
    for pid in (worker, run.conductor):
        assert mine.isdisjoint(open_files(pid).values())
        assert os.getsid(pid) == run.conductor


def open_files(pid):
    """What each descriptor of a process is."""
    return {path.name: str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}


def test_a_worker_that_is_not_there_is_a_line_and_the_conductor_goes_on(lease, asks):
    opened = lease()
    for _ in range(2):
        with pytest.raises(CellFailed, match="worker nobody is not there any more"):
            opened.ask(Take(worker="nobody", beside=True), Taken)
    with pytest.raises(CellFailed, match="worker nobody is not there any more"):
        opened.ask(End(worker="nobody"), Ended)
    assert opened.ask(asks(Start), Started).ready.steady is not None


def test_what_this_machine_has_not_is_a_line_and_the_conductor_goes_on(lease, asks):
    opened = lease()
    with pytest.raises(CellFailed, match="4096") as caught:
        opened.ask(asks(Start, EXPERIMENT.but(cores=4096)), Started)
    assert "\n" not in caught.value.reason
    with pytest.raises(CellFailed, match=r"the reference beside it: .*4096"):
        opened.ask(asks(Refer, EXPERIMENT.but(cores=4096)), Started)
    assert opened.ask(asks(Start), Started).worker


@pytest.mark.parametrize("words", [b"nonsense", b"[]", b'{"ask": "dance"}', b"\xff"])
def test_what_it_cannot_read_is_a_line(run, words):
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(60)
        line.connect(run.path)
        line.sendall(words + b"\n")
        told = json.loads(line.makefile("rb").readline())
    assert told["reply"] == "gone"
    assert told["failed"]["reason"].startswith("the conductor cannot read what it is asked: ")


def test_a_conductor_that_is_not_there_is_a_failed_cell(root, monkeypatch):
    monkeypatch.setenv(environ.CONDUCTOR, str(root / "nowhere"))
    with pytest.raises(CellFailed, match="nowhere: No such file or directory: the conductor"):
        Lease()


@pytest.fixture
def of_torch():
    """What a forked worker runs."""
    pytest.importorskip("torch")
    return settled(**TORCH, **BUDGET)


def expected(run, opened, experiment):
    """The process of a parent that the conductor was told to start."""
    opened.ask(Expect(run="r Trial", experiment=experiment.to_json()), Ended)
    wait_until(run.parents, "no parent was started")
    (parent,) = run.parents()
    return parent


def test_an_expected_parent_starts_at_once_and_imports_beside_nothing(lease, asks, run, of_torch):
    opened = lease()
    parent = expected(run, opened, of_torch)
    assert opened.ask(asks(Start), Started).forked is False
    used = psutil.Process(parent).cpu_times()
    time.sleep(0.5)
    assert psutil.Process(parent).cpu_times() == used  # its import was over before
    assert opened.ask(asks(Start, of_torch), Started).forked is True
    assert run.parents() == [parent]


def test_an_expected_parent_that_dies_is_no_cell_s_failure(lease, asks, run, of_torch):
    opened = lease()
    os.kill(expected(run, opened, of_torch), signal.SIGKILL)
    assert opened.ask(asks(Start, of_torch), Started).forked is True
