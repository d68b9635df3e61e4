"""The MLP and its activations against their formulas, in float64."""

import math

import numpy as np
import pytest
from settled import SMALL

from cputrain.engines.torch_.transformer import Mlp
from cputrain.experiment.activations import ACTIVATIONS

torch = pytest.importorskip("torch")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FORMULAS = {
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x * sigmoid(x),
    "swiglu": lambda x, gate: gate * sigmoid(gate) * x,
    "relu2": lambda x: np.maximum(x, 0) ** 2,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_activation(name):
    rng = np.random.default_rng(0)
    arguments = [3 * rng.standard_normal(500) for _ in range(2 if name == "swiglu" else 1)]
    tensors = [torch.from_numpy(x) for x in arguments]
    actual = ACTIVATIONS[name](torch.nn.functional, *tensors).numpy()
    assert np.allclose(actual, FORMULAS[name](*arguments), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("architecture", ["gpt", "llama"])
def test_mlp(name, architecture):
    """A gated one has three matrices: values, gates, back (Shazeer 2020, eq. 6)."""
    experiment = SMALL.but(activation=name, architecture=architecture)
    mlp, hidden = Mlp(experiment), 88 if name == "swiglu" else 128
    assert experiment.model.hidden == hidden
    x = torch.randn(2, 5, 32)
    w = {n: p.detach().double().numpy() for n, p in mlp.named_parameters()}
    assert any(n.endswith("bias") for n in w) == (architecture == "gpt")
    wide = x.double().numpy() @ w["fc.weight"].T + w.get("fc.bias", 0)
    if name == "swiglu":
        inner = FORMULAS[name](wide[..., :hidden], wide[..., hidden:])
    else:
        inner = FORMULAS[name](wide)
    expected = inner @ w["proj.weight"].T + w.get("proj.bias", 0)
    assert np.allclose(mlp(x).detach().numpy(), expected, rtol=1e-4, atol=1e-6)
