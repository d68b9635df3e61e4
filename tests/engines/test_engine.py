"""What holds for every engine alone."""

import subprocess
import sys

import numpy as np
import pytest

from cputrain import engines
from cputrain.data.batches import IGNORE, Batch
from cputrain.engines import EngineError
from cputrain.model import initial

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("compiled_once")]


@pytest.fixture
def engine(each):
    return engines.build(each, initial.initial_weights(each))


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_only_the_asked_library_is_imported(small):
    code = (
        "import sys; from cputrain import engines; engines.load('numpy');"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_an_unknown_engine_is_refused():
    with pytest.raises(EngineError, match="engine = 'cobol'"):
        engines.load("cobol")


def test_an_import_collects_the_oldest_objects_once_and_leaves_the_collector_as_it_was():
    code = (
        "import gc, os; from cputrain import engines; before = gc.get_threshold();"
        "full = lambda: gc.get_stats()[2]['collections'];"
        "start = full(); engines.load('torch'); engines.load('torch');"
        "told = (full() - start, gc.get_threshold() == before, gc.isenabled());"
        "print(told, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "(1, True, True)", done.stderr


def test_the_first_loss_is_near_that_of_guessing(engine, each, batch_of):
    assert engine.loss(batch_of(each)) == pytest.approx(np.log(257), rel=0.02)


@pytest.fixture
def quick(each):
    """An engine that learns its batch in some 60 steps."""
    return engines.build(each.but(learning_rate=0.01), initial.initial_weights(each))


def test_it_learns_a_batch_by_heart(quick, each, batch_of):
    batch = batch_of(each)
    losses = [quick.train_step(batch) for _ in range(60)]
    assert losses[-1] < 0.5 * losses[0]


def test_every_weight_moves_and_every_step_counts(engine, each, batch_of):
    before = engine.weights()
    assert engine.steps_done == 0
    for i in range(3):
        engine.train_step(batch_of(each, seed=i))
    engine.synchronize()
    assert engine.steps_done == 3
    after = engine.weights()
    assert all(not np.array_equal(before[name], after[name]) for name in before)
    assert all(np.isfinite(after[name]).all() for name in after)


def test_reading_changes_nothing(engine, each, batch_of):
    batch, twin = batch_of(each), engines.build(each, initial.initial_weights(each))
    for step in range(3):
        before = engine.weights()
        engine.loss(batch)
        engine.gradients(batch)
        engine.evidence(batch)
        assert engine.steps_done == step
        assert same(before, engine.weights())
        assert engine.train_step(batch) == twin.train_step(batch)
        assert same(engine.weights(), twin.weights())


def test_a_look_has_the_gradients_of_the_next_step(engine, each, batch_of):
    """Or none: then whoever wants them has to ask for another pass."""
    batch = batch_of(each)
    engine.train_step(batch)
    own, seen = engine.gradients(batch), engine.looked(batch).gradients
    assert (seen is None) == (each.runtime.engine in ("jax", "numpy"))
    if seen is not None:
        assert seen.keys() == own.keys()
        assert all(np.allclose(seen[name], own[name], rtol=1e-4, atol=1e-7) for name in own)


def test_weights_are_copies(engine, each, batch_of):
    start = initial.initial_weights(each)
    mine = engines.build(each, start)
    mine.train_step(batch_of(each))
    assert same(start, initial.initial_weights(each))
    taken = mine.weights()
    taken["wte"][:] = 7
    assert not (mine.weights()["wte"] == 7).any()


def test_weights_can_be_put_back(engine, each, batch_of):
    batch, start = batch_of(each), engine.weights()
    first = engine.loss(batch)
    engine.train_step(batch)
    assert engine.loss(batch) != first
    engine.load_weights(start)
    assert engine.loss(batch) == first


@pytest.mark.parametrize("change", ["missing", "unknown", "shape"])
def test_weights_that_do_not_fit_are_refused(engine, each, change):
    weights = initial.initial_weights(each)
    if change == "missing":
        del weights["h.1.mlp.fc.bias"]
    elif change == "unknown":
        weights["h.9.mlp.fc.bias"] = weights["h.1.mlp.fc.bias"]
    else:
        weights["wpe"] = weights["wpe"][:-1]
    for take in (engine.load_weights, lambda given: engines.build(each, given)):
        with pytest.raises(EngineError, match=r"^weight "):
            take(weights)


def test_another_shape_is_refused(engine, each, batch_of):
    with pytest.raises(EngineError, match="batch of shape"):
        engine.train_step(batch_of(each.but(batch_size=2)))


def test_ignored_targets_do_not_count(engine, each, batch_of):
    """What stands at ignored places makes no difference; that a place is ignored does."""
    batch = batch_of(each, ignored=0)
    targets = batch.targets.copy()
    targets[1:] = IGNORE
    part = engine.loss(Batch(batch.inputs, targets))
    other = batch.inputs.copy()
    other[1:] = 0
    assert engine.loss(Batch(other, targets)) == pytest.approx(part, rel=1e-6)
    assert engine.loss(batch) != pytest.approx(part, rel=1e-6)


def test_a_position_sees_nothing_that_comes_later(engine, each, batch_of):
    batch = batch_of(each, ignored=0)
    targets = np.full_like(batch.targets, IGNORE)
    targets[:, :10] = batch.targets[:, :10]
    before = engine.loss(Batch(batch.inputs, targets))
    later = batch.inputs.copy()
    later[:, 10:] = (later[:, 10:] + 1) % 257
    assert engine.loss(Batch(later, targets)) == pytest.approx(before, rel=1e-6)
    seen = batch.inputs.copy()
    seen[:, 9] = (seen[:, 9] + 1) % 257
    assert engine.loss(Batch(seen, targets)) != pytest.approx(before, rel=1e-6)


def test_targets_decide_what_is_learnt(quick, each, batch_of):
    """A model trained to repeat its input does so and does not predict: the harness mistake."""
    right = batch_of(each, ignored=0)
    wrong = Batch(right.inputs, right.inputs)
    for _ in range(60):
        quick.train_step(wrong)
    assert quick.loss(wrong) < 2 < quick.loss(right)


def test_it_says_what_it_runs_on(engine):
    versions = engine.versions()
    assert versions["numpy"] == np.__version__
    assert engine.name in versions
    assert engine.readings()
