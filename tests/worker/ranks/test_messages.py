"""What rank 0 sends arrives as it was: torch pickles it, arrays included."""

import pickle

import numpy as np
import pytest

from cputrain.data.batches import Batch
from cputrain.worker.ranks.messages import (
    CheckSettings,
    CompareWeights,
    ComputeLoss,
    Leave,
    Message,
    Train,
)


@pytest.mark.parametrize(
    "message", [Train(steps=3), CheckSettings(), CompareWeights(), Leave()], ids=repr
)
def test_a_message_arrives_as_it_was(message):
    arrived = pickle.loads(pickle.dumps(message))
    assert isinstance(arrived, Message) and type(arrived) is type(message)
    assert arrived == message


def test_a_batch_arrives_with_its_arrays():
    tokens = np.arange(6).reshape(2, 3)
    sent = ComputeLoss(batch=Batch(tokens, tokens + 1))
    arrived = pickle.loads(pickle.dumps(sent))
    assert isinstance(arrived, Message)
    assert np.array_equal(arrived.batch.inputs, tokens)
    assert np.array_equal(arrived.batch.targets, tokens + 1)


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="seconds"):
        Train(steps=3, seconds=1)
