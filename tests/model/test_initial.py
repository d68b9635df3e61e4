import numpy as np
import pytest

from cputrain.experiment import Experiment
from cputrain.model import initial, shapes

BASE = Experiment()


def test_shapes_and_order():
    found = shapes.weight_shapes(BASE.but(n_layer=2))
    assert list(found)[:2] == ["wte", "wpe"]
    assert list(found)[-2:] == ["ln_f.weight", "ln_f.bias"]
    assert shapes["wte"] == (257, 256)
    assert shapes["wpe"] == (256, 256)
    assert shapes["h.1.attn.qkv.weight"] == (768, 256)
    assert shapes["h.1.mlp.fc.weight"] == (1024, 256)
    assert shapes["h.1.mlp.proj.weight"] == (256, 1024)
    assert shapes["h.0.ln_2.bias"] == (256,)
    assert len(shapes) == 2 + 2 * 12 + 2


def test_weights_have_the_counted_parameters():
    weights = initial.initial_weights(BASE)
    assert {n: w.shape for n, w in weights.items()} == shapes.weight_shapes(BASE)
    assert sum(w.size for w in weights.values()) == shapes.n_params(BASE)
    assert {w.dtype for w in weights.values()} == {np.dtype(np.float32)}


def test_seed_decides():
    once, again = initial.initial_weights(BASE), initial.initial_weights(BASE)
    other = initial.initial_weights(BASE.but(seed=1))
    assert all(np.array_equal(once[name], again[name]) for name in once)
    assert not np.array_equal(once["wte"], other["wte"])


@pytest.mark.parametrize(
    ("name", "deviation"),
    [("wte", 0.02), ("h.3.attn.qkv.weight", 0.02), ("h.0.mlp.proj.weight", 0.02 / 8**0.5)],
)
def test_deviation(name, deviation):
    weight = initial.initial_weights(BASE)[name]
    assert weight.std() == pytest.approx(deviation, rel=0.02)
    assert abs(weight.mean()) < deviation / 50


def test_biases_are_0_and_norms_1():
    weights = initial.initial_weights(BASE)
    assert all((w == 0).all() for name, w in weights.items() if name.endswith("bias"))
    assert all((weights[name] == 1).all() for name in ("h.0.ln_1.weight", "ln_f.weight"))
