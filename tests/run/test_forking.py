"""Forked workers are what fresh interpreters' are, and a parent forks with one thread only."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from made_families import HANG_S, wait_until
from roots import take_root
from settled import settled

pytest.importorskip("torch")

from cputrain import environ, paths
from cputrain.machine import processes
from cputrain.record.requests import WorkerRequest
from cputrain.run import forking, placement
from cputrain.run.beside import Beside
from cputrain.run.failed import CellFailed
from cputrain.run.forking import ParentFailed, Parents, forkable
from cputrain.run.launch import Worker
from cputrain.run.session import Session

SMALL = settled(n_layer=1, n_embd=64, seq_len=32, warm_up_steps=2, steps=3, samples=2)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """One folder for all tests here: who has another one has another parent."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("root")
        take_root(patch, folder)
        yield folder


@pytest.fixture(scope="module")
def parents():
    """Those of all tests here: each imports torch."""
    made = Parents()
    yield made
    made.end()


@pytest.fixture
def start(root, parents):
    """Start a worker, forked or not."""
    workers = []
    request = WorkerRequest(folder=str(root / "model"), offline=True, model_cap_bytes=10**9)

    def make(forked=True, experiment=SMALL):
        from_ = parents if forked else None
        workers.append(Worker(experiment, request, parents=from_, in_turns=True))
        assert workers[-1].forked == forked
        return workers[-1]

    yield make
    for worker in workers:
        worker.end()


def parent_of(parents):
    """The process of the parent of SMALL's workers."""
    return parents._of(SMALL, placement.place(SMALL))._process.pid


def threads(pid):
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def surroundings(worker):
    """The environment and mask that the kernel knows of a worker."""
    names = dict(word.split(b"=", 1) for word in processes.environment(worker.process.pid) if word)
    del names[environ.WORKER.encode()]
    return names, os.sched_getaffinity(worker.process.pid)


@pytest.mark.parametrize("changes", [{}, {"cores": 1}], ids=str)
def test_a_forked_worker_is_as_a_fresh_interpreter_s(start, changes):
    experiment = SMALL.but(**changes)
    if (reason := placement.why_not(experiment)) is not None:
        pytest.skip(reason)
    fresh, forked = (start(forked, experiment) for forked in (False, True))
    reports = [worker.ready() for worker in (fresh, forked)]
    assert surroundings(forked) == surroundings(fresh)
    assert forked.placement == fresh.placement
    for name in ("versions", "readings", "counts", "composed", "simulated"):
        told_fresh, told_forked = (getattr(report, name) for report in reports)
        assert told_fresh == told_forked, name
    assert reports[0].data.fingerprint == reports[1].data.fingerprint
    assert checks(reports[1]) == checks(reports[0]) and checks(reports[0])
    first, second = (worker.sample(steps=3) for worker in (fresh, forked))  # discards none
    assert [report.warm_up_steps for report in reports] == [2, 2]  # however steady they are
    assert second.so_far.first_loss == first.so_far.first_loss
    assert second.sample.loss == first.sample.loss and len(first.sample.loss) == 3
    assert second.sample.busy == first.sample.busy
    peaks = [sampled.peak.peak_rss_bytes for sampled in (first, second)]
    assert peaks[1] == pytest.approx(peaks[0], rel=0.05)
    finished = [worker.finish() for worker in (fresh, forked)]
    assert finished[0].trained.parameters_moved == finished[1].trained.parameters_moved
    assert (fresh.left_over, forked.left_over) == (None, None)


def checks(report):
    return [(check.name, check.expected, check.actual) for check in report.in_force]


PRODUCT = """
import os, sys
def product():
    import numpy, threadpoolctl
    matrix = numpy.ones((700, 700), dtype=numpy.float32)
    assert (matrix @ matrix == 700).all()
    blas = [p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]
    print(blas[0], len(os.listdir("/proc/self/task")), flush=True)
if sys.argv[1] == "forked":
    from cputrain.worker import parent
    parent.load("torch")
    assert parent.why_not_single_threaded() is None
    if (child := os.fork()) == 0:
        product()
        os._exit(0)
    os.waitpid(child, 0)
else:
    product()
"""


def test_openblas_starts_its_threads_again_in_what_is_forked():
    """It starts them with NumPy, and ends them before a fork."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": str(paths.PROJECT)}
    said = {
        subprocess.run(
            [sys.executable, "-c", PRODUCT, how], env=env, capture_output=True, check=True
        ).stdout
        for how in ("fresh", "forked")
    }
    assert said == {b"2 2\n"}


def test_the_parent_has_one_thread_when_it_forks(start, parents):
    start().ready()
    assert threads(parent_of(parents)) == 1
    start().ready()
    assert threads(parent_of(parents)) == 1


@pytest.mark.parametrize(
    ("changes", "forked"),
    [({"seed": 1}, True), ({"allocator": "glibc_thresholds"}, False)],
    ids=str,
)
def test_both_sides_of_a_pair_start_alike(leased, changes, forked):
    """What a fork changes, if it changes anything, is in both or in none."""
    side = Beside(Session.from_env(), SMALL.but(**changes), SMALL)
    request = WorkerRequest(folder=str(leased / "m"), offline=True, model_cap_bytes=1)
    try:
        sides = side.refer(request), side.start(request)
        assert [started.forked for started in sides] == [forked, forked]
        again = side.refer(request)
        assert again.worker == sides[0].worker
    finally:
        side.end()


THREADED = """
import threading, time
from cputrain.worker import parent, serving
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
serving.leave(parent.main)
"""


def test_a_parent_with_a_second_thread_is_refused_with_the_reason():
    ours, theirs = socket.socketpair()
    words = [sys.executable, "-P", "-c", THREADED, str(theirs.fileno()), "numpy"]
    env = {**os.environ, "PYTHONPATH": str(paths.PROJECT)}
    with ours, theirs:
        process = subprocess.Popen(words, env=env, pass_fds=(theirs.fileno(),))
        ours.settimeout(HANG_S)
        said = ours.recv(4096).decode()
    assert process.wait(timeout=HANG_S) == 1
    assert said == "1 threads beside the first one, and a fork would lose them"


def test_a_parent_that_cannot_import_its_engine_says_why(root):
    placed = placement.place(SMALL)
    env = placement.environment(SMALL, placed)
    parent = forking.Parent("nonesuch", env, placed.cpus)
    with pytest.raises(ParentFailed, match="nonesuch"):
        parent.wait()
    parent.end()


def test_ending_one_of_two_siblings_leaves_the_other(start, parents):
    first, second = start(), start()
    first.ready()
    second.ready()
    first.sample(beside=True)
    first.end()
    assert not processes.lives(first.process.pid)
    assert len(second.sample(beside=True).sample.step_s) == 3
    second.finish()
    assert threads(parent_of(parents)) == 1


def test_a_killed_parent_takes_nobody_with_it_and_another_takes_its_place(start, parents):
    first = start()
    first.ready()
    killed = parent_of(parents)
    os.kill(killed, signal.SIGKILL)
    assert len(first.sample(beside=True).sample.step_s) == 3
    second = start()
    second.ready()
    assert parent_of(parents) != killed
    assert len(second.sample(beside=True).sample.step_s) == 3


def test_one_that_dies_while_it_is_asked_is_a_reason_and_the_next_one_is_new(root, parents):
    placed = placement.place(SMALL)
    parent = parents._of(SMALL, placed)
    os.kill(parent._process.pid, signal.SIGSTOP)
    reading, writing = os.pipe()
    os.close(reading)
    before = len(list(Path("/proc/self/fd").iterdir()))
    parent._socket.settimeout(0.2)
    with pytest.raises(ParentFailed, match="did not answer within"):
        parents.fork(SMALL, placed, writing)
    assert not processes.lives(parent._process.pid)
    forked, mark = parents.fork(SMALL, placed, writing)
    assert mark != parent.mark
    os.close(writing)
    forked.stdin.close()
    forked.stdout.close()
    assert forked.wait(timeout=HANG_S) == 1  # the end of its input before a request
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_a_killed_forked_worker_is_named_by_its_signal_and_no_zombie_is_left(start):
    worker = start()
    worker.ready()
    os.kill(worker.process.pid, signal.SIGKILL)
    with pytest.raises(CellFailed, match="killed by SIGKILL while training"):
        worker.sample(beside=True)
    assert processes.started(worker.process.pid) is None


LAUNCHER = """
import os, sys, time
from settled import settled
from cputrain.record.requests import WorkerRequest
from cputrain.run.forking import Parents
from cputrain.run.launch import Worker
small = settled(n_layer=1, n_embd=64, seq_len=32, warm_up_steps=4)
parents = Parents()
request = WorkerRequest(folder=sys.argv[1], offline=True, model_cap_bytes=10**9)
worker = Worker(small, request, parents=parents, in_turns=True)
worker.ready()
(parent,) = parents._parents.values()
print(worker.process.pid, parent._process.pid, flush=True)
time.sleep(600)
"""


def test_a_forked_worker_and_its_parent_die_with_their_launcher(own_root):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", LAUNCHER, str(own_root)]
    launcher = subprocess.Popen(words, stdout=subprocess.PIPE, env=env)
    pids = [int(word) for word in launcher.stdout.readline().split()]
    assert len(pids) == 2
    launcher.kill()
    launcher.wait()
    launcher.stdout.close()
    wait_until(lambda: not any(processes.lives(pid) for pid in pids), "one is left")


@pytest.mark.parametrize(
    ("changes", "forks"),
    [
        ({}, True),
        ({"precision": "bf16"}, True),
        ({"compile": "inductor"}, False),
        ({"compile": "inductor", "jit_state": "cold"}, False),
        ({"engine": "native"}, False),
        ({"engine": "jax"}, False),
        ({"pinning": "close"}, False),
        ({"allocator": "glibc_thresholds"}, False),
        ({"huge_pages": "madvise"}, False),
        ({"affinity": "one_per_core"}, True),
    ],
    ids=str,
)
def test_what_is_forked(changes, forks):
    experiment = settled(**changes)
    assert forkable(experiment, placement.place(experiment)) == forks
