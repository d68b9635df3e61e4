"""The reference against arithmetic done another way."""

import math

import numpy as np
import pytest

from cputrain.engines.numpy_ import ops
from cputrain.engines.numpy_.engine import NumpyEngine
from cputrain.model import initial


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_and_its_slope(dtype):
    x = np.concatenate([np.linspace(-12, 12, 100_001), [0.0, -0.0, 1e-30, -1e-30, 40, -40]])
    x = x.astype(dtype)
    y, slope = np.empty_like(x), np.empty_like(x)
    ops.gelu(x, y, slope)
    exact = x.astype(np.float64)
    phi = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in exact])
    density = np.exp(-0.5 * exact**2) / math.sqrt(2 * math.pi)
    assert np.abs(y - exact * phi).max() < 1e-6
    assert np.abs(slope - (phi + exact * density)).max() < 1e-6


def test_softmax_of_large_scores_is_finite():
    scores = np.array([[[1e4, 0, 0], [1e4, -1e4, 5], [3, 3, 3]]], np.float32)
    ops.causal_softmax(scores)
    assert np.allclose(scores, [[[1, 0, 0], [1, 0, 0], [1 / 3, 1 / 3, 1 / 3]]])


@pytest.mark.parametrize("length", [1, 63, 64, 65, 130])
def test_softmax_for_lengths_beside_the_block(length):
    scores = np.random.default_rng(0).standard_normal((2, length, length))
    masked = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    expected = np.exp(masked) / np.exp(masked).sum(-1, keepdims=True)
    ops.causal_softmax(scores)
    assert np.allclose(scores, expected)


def test_rows_of_repeated_ids_add_up():
    rng = np.random.default_rng(0)
    ids, rows = rng.integers(0, 7, 50), rng.standard_normal((50, 4))
    table, expected = np.ones((9, 4)), np.ones((9, 4))
    ops.add_rows(table, ids, rows)
    np.add.at(expected, ids, rows)
    assert np.allclose(table, expected)


def test_cross_entropy_without_targets_is_not_a_number():
    logits = np.ones((3, 5))
    assert math.isnan(ops.cross_entropy(logits, np.full(3, -100), -100))
    assert (logits == 0).all()


def test_ids_without_a_row_are_refused(small, batch_of):
    from cputrain.engines import EngineError

    experiment = small.but(engine="numpy", attention_backend="manual")
    engine = NumpyEngine(experiment, initial.initial_weights(experiment))
    batch = batch_of(experiment)
    batch.inputs[0, 0] = 257
    with pytest.raises(EngineError, match="the vocabulary has 257"):
        engine.loss(batch)
