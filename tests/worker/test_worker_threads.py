"""Real workers under each OpenMP and thread setting: it is in force, and the right threads work."""

import os

import lease_here
import pytest

pytest.importorskip("torch")

from test_worker import SMALL, run

from cputrain.run import fresh, placement
from cputrain.run.failed import CellFailed

ALLOWED = sorted(os.sched_getaffinity(0))
TWO = pytest.mark.skipif(len(ALLOWED) < 2, reason="needs two CPUs")
# Products that are worth sharing out among two threads.
WIDER = SMALL.but(n_embd=256, n_layer=1, seq_len=128, samples=1, warm_up_steps=3)


def in_force(experiment):
    """The record of one worker, and what was found by each check's name."""
    if reason := placement.why_not(experiment):
        pytest.skip(reason)
    record, _ = run(experiment.but(samples=1), samples=1)
    assert record["status"] == "ok"
    assert all(check["ok"] for check in record["in_force"])
    return record, {check["name"]: check["found"] for check in record["in_force"]}


@TWO
@pytest.mark.parametrize(
    ("runtime", "pinning", "policy"),
    [
        ("libgomp", "close", "active"),
        ("libgomp", "spread", "passive"),
        ("libiomp5", "explicit", "spin_0"),
    ],
)
def test_two_threads_are_bound_and_wait_as_asked(leased, runtime, pinning, policy):
    settings = {"omp_runtime": runtime, "pinning": pinning, "wait_policy": policy}
    record, actual = in_force(WIDER.but(threads=2, **settings))
    assert record["samples"][0]["busy"]["found"] == 2
    assert runtime in actual["OpenMP runtime that torch calls"]
    assert len({*map(tuple, actual["CPUs of each OpenMP thread"].values())}) == 2


@pytest.mark.parametrize(
    ("runtime", "pinning", "policy"),
    [("libgomp", "explicit", "spin_0"), ("libiomp5", "spread", "active")],
)
def test_one_thread_on_one_cpu_takes_every_setting(leased, runtime, pinning, policy):
    settings = {"omp_runtime": runtime, "pinning": pinning, "wait_policy": policy}
    experiment = SMALL.but(cores=1, **settings)
    record, actual = in_force(experiment)
    assert actual["CPUs of each OpenMP thread"] == {"0": [placement.place(experiment).cpus[0]]}
    assert record["samples"][0]["busy"]["found"] == 1


@TWO
def test_torch_s_own_count_goes_before_openmp_s_and_inter_op_threads_do_nothing(leased):
    settings = {"intra_op_threads": 2, "inter_op_threads": 4}
    record, actual = in_force(WIDER.but(threads=1, **settings))
    assert actual["torch.get_num_threads(), as set"] == 2
    assert actual["torch.get_num_interop_threads()"] == 4
    assert record["samples"][0]["busy"]["found"] == 2


@TWO
def test_a_launcher_that_forgets_the_places_is_found(own_root, here, monkeypatch):
    honest = fresh.environment

    def forgetful(experiment, placed):
        env = honest(experiment, placed)
        return {name: env[name] for name in env.keys() - {"OMP_PROC_BIND", "OMP_PLACES"}}

    lease_here.lie(monkeypatch, forgetful)
    with pytest.raises(CellFailed, match="OpenMP's binding: asked for close, found false"):
        run(SMALL.but(threads=1, pinning="explicit"), samples=1)
