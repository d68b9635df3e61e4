"""Real workers on JAX: each setting is in force there, and a launcher that lies is found."""

import lease_here
import pytest
from settled import FEW_STEPS, settled

pytest.importorskip("jax")

from test_worker_kinds import run

from cputrain import environ
from cputrain.machine import threads
from cputrain.run import compiled, fresh, placement
from cputrain.run.failed import CellFailed
from cputrain.worker import sampling, watch

SMALL = settled(engine="jax", compile="xla", n_layer=1, n_embd=64, seq_len=32, **FEW_STEPS)


def actual_values(record):
    assert record["status"] == "ok" and all(check["ok"] for check in record["in_force"])
    return {check["name"]: check["found"] for check in record["in_force"]}


def lie(monkeypatch, **changed):
    """Workers get these variables instead of the experiment's; None is none."""
    honest = fresh.environment

    def lying(experiment, placed):
        env = honest(experiment, placed) | changed
        return {name: value for name, value in env.items() if value is not None}

    lease_here.lie(monkeypatch, lying)


def test_one_thread_and_a_cap_are_in_force(leased):
    experiment = SMALL.but(threads=1, instruction_set="baseline")
    if reason := placement.why_not(experiment):
        pytest.skip(reason)
    record = run(experiment)
    actual = actual_values(record)
    assert actual["threads of XLA's pool"] == 1 == record["samples"][0]["busy"]["found"]
    assert actual["instructions above baseline in the code of XLA"].startswith("0 of ")


def test_a_worker_without_the_flags_is_found(own_root, here, monkeypatch):
    """XLA's own loops heed the engine's options, which say so too; YNNPACK the flags alone."""
    lie(monkeypatch, XLA_FLAGS=None)
    with pytest.raises(CellFailed, match="calls of several operations: asked for 0, found"):
        run(SMALL.but(fusion=False))


def test_a_worker_with_more_threads_is_found(own_root, here, monkeypatch):
    lie(monkeypatch, NPROC="3")
    with pytest.raises(CellFailed, match="threads of XLA's pool: asked for 1, found 3"):
        run(SMALL.but(threads=1))


def test_a_warm_first_step_finds_what_a_cold_one_left_in_jax_s_cache(own_root, here, monkeypatch):
    monkeypatch.setattr(placement, "COMPILED", own_root / "compiled")
    warm = run(SMALL.but(steps=1, jit_state="warm"))
    assert warm["evidence"]["program"] == {"name": "step", "compiled": 1, "hits": 1, "misses": 0}
    assert actual_values(warm)["step from the cache of compiled code"] == 1
    (sample,) = warm["samples"]
    (step_s,) = sample["step_s"]  # both are of this one step, read by other clocks
    assert 0.25 < step_s / warm["phases"]["first_step_s"] <= 1
    lie(monkeypatch, JAX_ENABLE_COMPILATION_CACHE="false")
    with pytest.raises(CellFailed, match="although there is a cache: asked for 1, found 0"):
        run(SMALL.but(steps=1, jit_state="cold"))


def test_without_a_session_a_cold_start_finds_no_code_and_leaves_none(own_root, here, monkeypatch):
    monkeypatch.setattr(fresh, "COMPILED", own_root / "compiled")
    record = run(SMALL.but(steps=1, jit_state="cold"))
    program = record["evidence"]["program"]
    assert (program["hits"], program["misses"], record["found_code"]) == (0, 1, False)
    assert list((own_root / "compiled").iterdir()) == []


def test_a_session_s_steady_workers_leave_a_cold_start_cold(own_root, here, monkeypatch):
    """They do not use JAX's cache, so what they left in the session is no code."""
    monkeypatch.setattr(compiled, "COMPILED", own_root / "compiled")
    monkeypatch.setenv(environ.SESSION, "s")
    (own_root / ".asv").mkdir()
    programs = []
    for place, state in enumerate(("steady", "cold", "warm", "steady")):
        steps = None if state == "steady" else 1
        record = run(SMALL.but(steps=steps, jit_state=state), str(place))
        programs.append((record["evidence"]["program"], record["found_code"]))
    counts = [(program["hits"], program["misses"], found_code) for program, found_code in programs]
    assert counts == [(0, 0, False), (0, 1, False), (1, 0, True), (0, 0, False)]


def test_xla_s_own_threads_that_wait_for_one_another_disturb_nobody(leased):
    record = run(SMALL.but(cores=1))
    (sample,) = record["samples"]
    noise = sample["noise"]
    assert noise["run_queue_share"] is not None
    # Only what others used counts, if there is anybody just now, or a quota.
    rounding_s = watch.ROUNDING_TICKS * len(record["placement"]["cpus"]) * threads.TICK_NS / 1e9
    others = noise["others_cpu_s"] - rounding_s > watch.DISTURBED_SHARE * noise["wall_s"]
    assert sample["disturbed"] is (others or bool(noise["throttled_s"]))


def test_somebody_else_beside_them_does(leased, rival):
    """Over a second: what others used is known to two of the kernel's ticks only, and of one CPU
    that XLA's threads share a single rival has but a sixth.
    """
    record = run(SMALL.but(cores=1, steps=1500, tries=2))
    (sample,) = record["samples"]
    is_long = 1500 * record["warm_step_s"] > sampling.AGAIN_S
    assert sample["disturbed"] and sample["tries"] == (1 if is_long else 2)
