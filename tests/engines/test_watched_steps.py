"""The parts of real steps: they add up to the step, and watching changes nothing."""

import time

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.engines import EngineError
from cputrain.engines.parts import can_watch, watcher
from cputrain.machine import compilers
from cputrain.model.initial import initial_weights
from cputrain.model.parts import NAMES

FEWEST_STEPS, MOST_STEPS = 9, 200
WATCHED = ("torch", "jax", "native")
pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("compiled_once")]


def made(engine, **changes):
    if engine in ("torch", "jax"):
        pytest.importorskip(engine)
    if engine == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    experiment = settled(engine=engine, **changes)
    return engines.build(experiment, initial_weights(experiment)), experiment


def stepping(engine, batch):
    def step():
        engine.train_step(batch)
        engine.synchronize()

    return step


def parts_s(times):
    return sum(times.seconds.values())


@pytest.mark.parametrize("name", WATCHED)
def test_parts_add_up_to_a_step_that_is_not_watched(name, batch_of):
    engine, experiment = made(name, n_layer=2)
    step = stepping(engine, batch_of(experiment))
    for _ in range(4):
        step()
    watching = watcher(engine)
    watching.step(step)
    plain_s, watched = [], []
    for _ in range(MOST_STEPS):
        start = time.perf_counter()
        step()
        plain_s.append(time.perf_counter() - start)
        times = watching.step(step)
        watched.append(times)
        assert parts_s(times) == pytest.approx(times.wall_s - times.watcher_s, rel=1e-3)
        # The fastest of each: others have this machine too.
        times = min(watched, key=parts_s)
        apart = parts_s(times) / min(plain_s) - 1
        if len(plain_s) >= FEWEST_STEPS and abs(apart) < 2 * watching.tolerance:
            break
    assert abs(apart) < 2 * watching.tolerance
    assert times.seconds.keys() <= {*NAMES}
    parts = ("embedding", "attention", "products", "head", "elementwise", "optimizer", "data")
    assert all(times.seconds[part] > 0 for part in parts)
    # Of each part its fastest: what others held up in one step differs from part to part.
    least_s = {name: min(each.seconds.get(name, 0.0) for each in watched) for name in NAMES}
    assert least_s["embedding"] < min(least_s["products"], least_s["attention"])
    assert least_s["framework"] + least_s.get("other", 0.0) < 0.4 * sum(least_s.values())
    assert engine.steps_done == 5 + 2 * len(plain_s)


@pytest.mark.parametrize("name", WATCHED)
def test_watched_steps_train_as_others_do(name, small, batch_of):
    changes = {k: v for k, v in small.flat().items() if k in ("n_layer", "n_embd", "n_head")}
    shape = {"seq_len": 24, "batch_size": 3, **changes}
    (engine, experiment), (twin, _) = made(name, **shape), made(name, **shape)
    batch = batch_of(experiment)
    engine.train_step(batch)
    twin.train_step(batch)
    watching = watcher(engine)
    for _ in range(2):
        watching.step(stepping(engine, batch))
        twin.train_step(batch)
    engine.train_step(batch)  # and leaves nothing behind
    twin.train_step(batch)
    weights, others = engine.weights(), twin.weights()
    for weight in weights:
        np.testing.assert_allclose(weights[weight], others[weight], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["torch", "native"])
def test_the_smallest_call_is_far_below_a_step(name, batch_of):
    engine, experiment = made(name, n_layer=2)
    step = stepping(engine, batch_of(experiment))
    step()
    watching = watcher(engine)
    times = watching.step(step)
    assert 0 < watching.dispatch_s() < times.wall_s / 50


def test_jax_cannot_tell_the_smallest_call(small, batch_of):
    engine, experiment = made("jax", n_layer=1, n_embd=32, n_head=2, seq_len=24, batch_size=3)
    with pytest.raises(EngineError, match="not one program"):
        watcher(engine)  # nothing is compiled yet
    engine.train_step(batch_of(experiment))
    assert "does not tell" in watcher(engine).dispatch_s()


def test_who_cannot_tell_says_so(tmp_path):
    engine, _ = made("numpy", n_layer=1, n_embd=32, n_head=2, seq_len=24)
    assert not can_watch("numpy")
    with pytest.raises(EngineError, match="the numpy engine has no counters"):
        watcher(engine)


def test_a_compiled_torch_step_is_refused():
    engine, _ = made("torch", compile="aot_eager", n_layer=1, n_embd=32, n_head=2)
    with pytest.raises(EngineError, match="compiled"):
        watcher(engine)
