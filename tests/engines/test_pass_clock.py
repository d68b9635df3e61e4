"""Forward, backward and update by the clock: they are the step, and cost it nothing."""

import statistics
import time

import pytest
from settled import settled

from cputrain import engines
from cputrain.data import feed
from cputrain.engines.pass_clock import BACKWARD, FORWARD, OPTIMIZER, PassClock
from cputrain.machine import compilers
from cputrain.model.initial import initial_weights
from cputrain.worker.stepper import Stepper

STEPS = 7


def made(engine, root, **changes):
    experiment = settled(engine=engine, **changes)
    built = engines.build(experiment, initial_weights(experiment))
    return Stepper(experiment, built, feed.open_feed(experiment, root, offline=True)), built


@pytest.mark.parametrize("engine", ["torch", "numpy", "native"])
@pytest.mark.parametrize("grad_accum", [1, 3])
def test_passes_add_up_to_the_step(engine, grad_accum, tmp_path):
    if engine == "torch":
        pytest.importorskip("torch")
    if engine == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    stepper, built = made(engine, tmp_path, n_layer=1, grad_accum=grad_accum)
    stepper.train(2)
    step_s = stepper.train(STEPS)
    assert built.no_passes is None and len(stepper.passes) == STEPS
    shares = [sum(p) / s for p, s in zip(stepper.passes, step_s, strict=True)]
    assert 0.95 < statistics.median(shares) <= 1
    assert all(min(passes) > 0 for passes in stepper.passes)


def test_what_looks_at_the_model_between_steps_is_not_in_them(tmp_path):
    stepper, built = made("numpy", tmp_path, n_layer=1, n_embd=32, n_head=2, seq_len=32)
    built.pass_clock.add(BACKWARD, 10**12)
    (step_s,) = stepper.train(1)
    assert sum(stepper.passes[0]) <= step_s


def test_of_a_reckoned_step_passes_are_reckoned_too(tmp_path, monkeypatch):
    stepper, built = made("numpy", tmp_path, micro_batches=2, grad_accum=16)

    def accumulate(batch, share):
        built.pass_clock.add(FORWARD, 10**9)
        built.pass_clock.add(BACKWARD, 2 * 10**9)
        return 1.0

    monkeypatch.setattr(built, "accumulate", accumulate)
    monkeypatch.setattr(built, "update", lambda: built.pass_clock.add(OPTIMIZER, 5 * 10**9))
    stepper.train(1)
    assert stepper.passes == [(16.0, 32.0, 5.0)]


def test_a_forward_pass_alone_has_nothing_else(tmp_path):
    pytest.importorskip("torch")
    small = {"n_layer": 1, "n_embd": 32, "n_head": 2, "seq_len": 32}
    stepper, _ = made("torch", tmp_path, objective="forward", **small)
    stepper.train(1)
    assert stepper.passes[0].forward_s > 0 and stepper.passes[0][1:] == (0, 0)


def test_jax_says_why_it_has_none(tmp_path):
    pytest.importorskip("jax")
    small = {"n_layer": 1, "n_embd": 32, "n_head": 2, "seq_len": 32}
    stepper, built = made("jax", tmp_path, **small)
    stepper.train(1)
    assert stepper.passes == [] and built.pass_clock is None
    assert "one program" in built.no_passes


def test_readings_cost_next_to_nothing():
    clock, times = PassClock(), 20_000
    start = time.perf_counter()
    for _ in range(times):
        clock.start()
        clock.end(FORWARD)
        clock.end(BACKWARD)
        clock.start()
        clock.end(OPTIMIZER)
        clock.taken()
    reading_s = (time.perf_counter() - start) / times
    start = time.perf_counter()
    sum(range(200_000))
    assert reading_s < (time.perf_counter() - start)  # microseconds beside milliseconds
