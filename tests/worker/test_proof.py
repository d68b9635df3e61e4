"""The gates on weights, gradients and losses."""

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.engines import EngineError
from cputrain.errors import DidNotTrain
from cputrain.model import shapes
from cputrain.model.initial import initial_weights
from cputrain.worker import gates, proof
from cputrain.worker.preparation import Preparation

BEFORE = {"a": np.ones(3), "b": np.zeros(2)}


def test_what_may_stay_is_excused_by_name_only():
    after = {"a": np.ones(3), "b": np.ones(2)}
    with pytest.raises(DidNotTrain, match="a has not moved"):
        gates.moved(BEFORE, after)
    assert gates.moved(BEFORE, after, {"a": "below the rounding step"}) == 1
    with pytest.raises(DidNotTrain, match="a has not moved"):
        gates.moved(BEFORE, after, {"b": "another"})


def test_a_frozen_weight_that_moves_is_caught():
    gates.unchanged(BEFORE, {"a": np.ones(3), "b": np.zeros(2)})
    for after in ({"a": np.ones(3), "b": np.ones(2)}, {"a": np.ones(3)}):
        with pytest.raises(DidNotTrain, match="b was to stay"):
            gates.unchanged(BEFORE, after)


@pytest.mark.parametrize(
    ("gradient", "said"),
    [(None, "gets no gradient"), (np.zeros(2), "is zero"), (np.array([1.0, np.nan]), "finite")],
)
def test_each_parameter_needs_a_gradient(gradient, said):
    gradients = {"a": np.ones(3)} | ({} if gradient is None else {"b": gradient})
    gates.gradients(gradients, ["a"])
    with pytest.raises(DidNotTrain, match=f"b.*{said}"):
        gates.gradients(gradients, ["a", "b"])


def test_without_training_the_loss_stays():
    gates.same_loss(5.5, 5.5 + 1e-6)
    for last in (5.4, float("nan")):
        with pytest.raises(DidNotTrain, match="without training"):
            gates.same_loss(5.5, last)


def test_a_look_that_shows_no_gradient_leaves_it_to_the_proof():
    worker = object.__new__(Preparation)
    worker.experiment, worker.gradients_hold = settled(n_layer=1, n_embd=8, n_head=1), False
    ones = {name: np.ones(1) for name in shapes.trained(worker.experiment)}
    worker._hold_gradients(ones)
    assert worker.gradients_hold
    worker._hold_gradients(ones | {"wte": np.zeros(1)})  # compiled again, say
    assert not worker.gradients_hold


def test_the_loss_at_the_start_is_asked_with_its_weights_and_then_those_of_now_are_back():
    sizes = {"n_layer": 1, "n_embd": 8, "n_head": 1, "seq_len": 4}
    experiment = settled(engine="numpy", attention_backend="manual", **sizes)
    engine = engines.build(experiment, initial_weights(experiment))
    batch = Batch(np.arange(4)[None], np.arange(1, 5)[None])
    start, loss = engine.weights(), engine.loss(batch)
    for _ in range(3):
        engine.train_step(batch)
    now = engine.weights()
    assert proof.start_loss(engine, batch, start, now) == loss > engine.loss(batch)
    with pytest.raises(EngineError, match="shape"):
        proof.start_loss(engine, Batch(batch.inputs[:, :2], batch.targets[:, :2]), start, now)
    back = engine.weights()
    assert all(np.array_equal(now[name], back[name]) for name in now)
    assert engine.steps_done == 3
