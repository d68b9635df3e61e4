import numpy as np
import pytest

from cputrain.errors import DidNotTrain
from cputrain.worker import gates


def test_fewer_steps_than_asked_is_found():
    gates.steps(10, 10)
    with pytest.raises(DidNotTrain, match="10 steps were asked for, the optimizer counted 9"):
        gates.steps(10, 9)


def weights(**changed):
    return {"a": np.ones(3, np.float32), "b": np.zeros((2, 2), np.float32)} | changed


def test_every_weight_has_to_move():
    after = weights(a=np.full(3, 2.0, np.float32), b=np.eye(2, dtype=np.float32))
    assert gates.moved(weights(), after) == 2
    with pytest.raises(DidNotTrain, match="b has not moved"):
        gates.moved(weights(), weights(a=after["a"]))


def test_weights_have_to_be_finite_and_there():
    with pytest.raises(DidNotTrain, match="a has entries that are not finite"):
        gates.moved(weights(), weights(a=np.array([1.0, np.nan, 0.0], np.float32)))
    with pytest.raises(DidNotTrain, match="b is gone"):
        gates.moved(weights(), {"a": np.zeros(3, np.float32)})


def test_a_weight_that_is_excused_may_stay_and_does_not_count():
    after = weights(a=np.full(3, 2.0, np.float32))
    assert gates.moved(weights(), after, {"b": "too small a step"}) == 1


def test_weights_that_are_not_trained_have_to_stay():
    gates.unchanged(weights(), weights())
    with pytest.raises(DidNotTrain, match="a was to stay"):
        gates.unchanged(weights(), weights(a=np.array([1.0, 1.0, 1.0000001], np.float32)))
    with pytest.raises(DidNotTrain, match="b was to stay"):
        gates.unchanged(weights(), {"a": weights()["a"]})


def test_every_trained_weight_needs_a_gradient():
    gates.gradients(weights(b=np.eye(2)), ["a", "b"])
    with pytest.raises(DidNotTrain, match="gradient of b is zero"):
        gates.gradients(weights(), ["a", "b"])
    with pytest.raises(DidNotTrain, match="c gets no gradient"):
        gates.gradients(weights(), ["a", "c"])
    with pytest.raises(DidNotTrain, match="gradient of a has entries that are not finite"):
        gates.gradients(weights(a=np.array([1.0, np.inf])), ["a"])


def test_without_training_the_loss_has_to_stay():
    gates.same_loss(5.5, 5.5 * (1 + 1e-5))
    for last in (5.4, 5.6, float("nan")):
        with pytest.raises(DidNotTrain, match="without training"):
            gates.same_loss(5.5, last)


def test_the_loss_has_to_fall():
    gates.loss_fell(5.5, 5.4)
    for last in (5.5, 5.6, float("nan"), float("inf")):
        with pytest.raises(DidNotTrain, match="first batch"):
            gates.loss_fell(5.5, last)
