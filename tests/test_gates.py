import numpy as np
import pytest

from cputrain import gates
from cputrain.data.batches import IGNORE, Batch, Batches

TOKENS = np.arange(1000, dtype=np.uint16) % 251


def test_targets_of_our_batches_are_the_next_token():
    gates.next_token(Batches(TOKENS, 32, 2, seed=0).batch(0))


def test_target_equal_to_input_is_found():
    """The fault of an earlier published sweep."""
    inputs = Batches(TOKENS, 32, 2, seed=0).batch(0).inputs
    with pytest.raises(gates.DidNotTrain, match="not the next token"):
        gates.next_token(Batch(inputs, inputs.copy()))


def test_a_batch_of_padding_trains_nothing():
    inputs = np.zeros((1, 8), dtype=np.int64)
    with pytest.raises(gates.DidNotTrain):
        gates.next_token(Batch(inputs, np.full_like(inputs, IGNORE)))


def test_fewer_steps_than_asked_is_found():
    gates.steps(10, 10)
    with pytest.raises(gates.DidNotTrain, match="10 steps were asked for, the optimizer counted 9"):
        gates.steps(10, 9)


def weights(**changed):
    return {"a": np.ones(3, np.float32), "b": np.zeros((2, 2), np.float32)} | changed


def test_every_weight_has_to_move():
    after = weights(a=np.full(3, 2.0, np.float32), b=np.eye(2, dtype=np.float32))
    assert gates.moved(weights(), after) == 2
    with pytest.raises(gates.DidNotTrain, match="b has not moved"):
        gates.moved(weights(), weights(a=after["a"]))


def test_weights_have_to_be_finite_and_there():
    with pytest.raises(gates.DidNotTrain, match="a has entries that are not finite"):
        gates.moved(weights(), weights(a=np.array([1.0, np.nan, 0.0], np.float32)))
    with pytest.raises(gates.DidNotTrain, match="b is gone"):
        gates.moved(weights(), {"a": np.zeros(3, np.float32)})


def test_the_loss_has_to_fall():
    gates.loss_fell(5.5, 5.4)
    for last in (5.5, 5.6, float("nan"), float("inf")):
        with pytest.raises(gates.DidNotTrain, match="first batch"):
            gates.loss_fell(5.5, last)
