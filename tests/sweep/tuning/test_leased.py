"""Workers of a tuning as a conductor gives them: real ones, of the native engine."""

import subprocess
import sys

import pytest
from lease_here import LeaseHere
from settled import settled

from cputrain.run.failed import CellFailed
from cputrain.run.session import Session
from cputrain.sweep.tuning.workers import Leased

pytest.importorskip("threadpoolctl")
pytest.importorskip("safetensors")
TINY = settled(engine="native", n_layer=1, n_embd=32, n_head=2, seq_len=32, learning_rate=0.003)


@pytest.fixture
def leased(own_root):
    lease = LeaseHere()
    yield Leased(lease, Session.from_env())
    lease.close()


def test_workers_take_turns_prove_and_leave_nothing(leased, own_root):
    worker, other = leased.start(TINY, 60.0), leased.start(TINY.but(batch_size=2), 60.0)
    assert worker.warm_step_s > 0 and worker.ready_s > 0 and worker.versions["python"]
    first, second = leased.block(worker), leased.block(other)
    assert first.step_s and second.step_s
    leased.prove(worker)
    leased.end(worker)  # it is gone, which is what was wanted
    leased.end(other)
    with pytest.raises(CellFailed, match="not there any more"):
        leased.block(worker)
    assert not list(own_root.rglob("*.safetensors")) and not list(own_root.rglob("run.json"))


def test_a_worker_that_is_not_warm_in_its_time_is_gone_and_the_others_live(leased):
    worker = leased.start(TINY, 60.0)
    slow = settled(n_layer=4, n_embd=512, seq_len=512)
    with pytest.raises(CellFailed) as caught:
        leased.start(slow, 1.0)
    assert caught.value.status == "timed out"
    assert "after 1 s, while " in caught.value.reason
    assert leased.block(worker).step_s
    leased.end(worker)


def test_no_memory_to_measure_it_with_is_one_line_that_says_what_to_do():
    code = """
import resource
from cputrain.errors import RunError
from cputrain.sweep.tuning.workers import Leased
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (32 << 20),) * 2)
try:
    Leased.page_s(None, False)
except RunError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    line = "what fresh memory costs could not be measured (64 MiB: Cannot allocate memory): free"
    assert run.stdout.startswith(line) and run.stdout.count("\n") == 1, run.stderr
