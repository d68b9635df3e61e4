import numpy as np
import pytest
from settled import settled

from cputrain.model import initial, shapes

BASE = settled()


def test_shapes_and_order():
    weight_shapes = shapes.weight_shapes(BASE.but(n_layer=2))
    assert list(weight_shapes)[:2] == ["wte", "wpe"]
    assert list(weight_shapes)[-2:] == ["ln_f.weight", "ln_f.bias"]
    assert weight_shapes["wte"] == (257, 256)
    assert weight_shapes["wpe"] == (256, 256)
    assert weight_shapes["h.1.attn.qkv.weight"] == (768, 256)
    assert weight_shapes["h.1.mlp.fc.weight"] == (1024, 256)
    assert weight_shapes["h.1.mlp.proj.weight"] == (256, 1024)
    assert weight_shapes["h.0.ln_2.bias"] == (256,)
    assert len(weight_shapes) == 2 + 2 * 12 + 2


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


@pytest.mark.parametrize(
    "name", ["head.weight", "node_head.weight", "relation", "mlm.dense.weight"]
)
def test_tables_and_heads_start_as_embeddings_do(name):
    masked = {"architecture": "bert", "objective": "masked_node", "vocab_size": 300}
    weight = initial.initial_weights(BASE.but(**masked, tied=False))[name]
    assert weight.std() == pytest.approx(0.02, rel=0.05)
    assert abs(weight.mean()) < 0.002


def test_the_masked_head_starts_without_a_bias_and_with_a_plain_norm():
    masked = {"architecture": "bert", "objective": "masked", "vocab_size": 300}
    weights = initial.initial_weights(BASE.but(**masked))
    assert all((weights[name] == 0).all() for name in ("mlm.bias", "mlm.ln_1.bias", "ln_emb.bias"))
    assert all((weights[name] == 1).all() for name in ("mlm.ln_1.weight", "ln_emb.weight"))


def test_llamas_norms_are_1_and_it_has_no_bias():
    weights = initial.initial_weights(BASE.but(architecture="llama", activation="swiglu"))
    norms = [name for name in weights if "ln_" in name]
    assert len(norms) == 2 * 4 + 1
    assert all((weights[name] == 1).all() for name in norms)
    assert not any(name.endswith("bias") for name in weights)
