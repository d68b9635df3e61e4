"""Norms against their formulas, in float64."""

import numpy as np
import pytest
from settled import SMALL

from cputrain.engines.torch_ import layers

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("size", [1.0, 1e-3])  # the small one shows where eps is added
def test_rms_norm(size):
    norm = layers.norm(SMALL.but(architecture="llama"))
    assert [name for name, _ in norm.named_parameters()] == ["weight"]
    x, weight = torch.randn(5, 32) * size + size, torch.randn(32)
    norm.weight.data = weight
    wide = x.double().numpy()
    expected = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * weight.numpy()
    assert np.allclose(norm(x).detach().numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_layer_norm(size):
    norm = layers.norm(SMALL)
    x = torch.randn(5, 32) * size + size
    norm.weight.data, norm.bias.data = torch.randn(32), torch.randn(32)
    wide = x.double().numpy()
    wide -= wide.mean(-1, keepdims=True)
    expected = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    expected = expected * norm.weight.detach().numpy() + norm.bias.detach().numpy()
    assert np.allclose(norm(x).detach().numpy(), expected, rtol=1e-5, atol=1e-5)
