"""Activations against formulas in double precision, and slopes against differences."""

import math

import numpy as np
import pytest

from cputrain.engines import EngineError
from cputrain.engines.numpy_.activations import PLAIN, Activation
from cputrain.experiment.activations import ACTIVATIONS, is_gated


def logistic(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


FORMULAS = {
    "gelu": lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2)),
    "gelu_tanh": lambda x: (
        0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "relu": lambda x: max(x, 0.0),
    "relu2": lambda x: max(x, 0.0) ** 2,
    "silu": lambda x: x * logistic(x),
}


def test_every_activation_of_the_program_is_here():
    assert {name for name in ACTIVATIONS if not is_gated(name)} == set(PLAIN) == set(FORMULAS)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_slopes(name, dtype):
    x = np.concatenate([np.linspace(-30, 30, 6_000), [0.0, 1e-30, -100.0, 100.0]]).astype(dtype)
    y, slope = np.empty_like(x), np.empty_like(x)
    PLAIN[name](x, y, slope)
    expected = np.array([FORMULAS[name](float(v)) for v in x])
    assert np.abs(y - expected).max() <= 2e-6 * np.abs(expected).max()
    away = np.abs(x) > 1e-3  # relu's kink
    step = 1e-5
    ahead, behind = (
        np.array([FORMULAS[name](float(v) + s) for v in x[away]]) for s in (step, -step)
    )
    assert np.abs(slope[away] - (ahead - behind) / (2 * step)).max() < 2e-5


@pytest.mark.parametrize("name", ["relu", "swiglu"])
def test_a_layer_gives_what_the_formula_does(name):
    rng = np.random.default_rng(0)
    gated = is_gated(name)
    before = rng.standard_normal((6, 10 if gated else 5))
    layer = Activation(name, 6, 5, np.dtype(np.float64))
    after = layer.forward(before.copy())
    silu = np.vectorize(FORMULAS["silu"])
    expected = before[:, :5] * silu(before[:, 5:]) if gated else np.maximum(before, 0)
    assert np.allclose(after, expected)
    dafter, dbefore = rng.standard_normal((6, 5)), np.empty_like(before)
    layer.backward(dafter, dbefore)
    for column in range(before.shape[1]):
        moved = before.copy()
        moved[:, column] += 1e-6
        slope = (Activation(name, 6, 5, np.dtype(np.float64)).forward(moved) - expected) / 1e-6
        assert np.allclose(dbefore[:, column], (dafter * slope).sum(1), atol=1e-4)


def test_an_unknown_activation_is_refused():
    with pytest.raises(EngineError, match=r"activation = 'mish': the numpy engine has gelu"):
        Activation("mish", 1, 1, np.dtype(np.float32))
