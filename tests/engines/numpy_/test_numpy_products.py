"""Each library's products against NumPy's, of every layout that the engine has."""

import json

import numpy as np
import pytest
import threadpoolctl
from given_libraries import NAMES, give, load
from hypothesis import given, settings
from hypothesis import strategies as st
from settled import SIZES, settled

from cputrain import engines
from cputrain.engines import EngineError, executed
from cputrain.engines.numpy_.engine import NumpyEngine
from cputrain.engines.numpy_.executed import products as numpy_products
from cputrain.engines.numpy_.products import Products
from cputrain.knobs import inforce
from cputrain.model import initial

NUMPY = settled(engine="numpy", attention_backend="manual")
LENGTHS = st.integers(1, 20)


def values(rng, *shape):
    return rng.standard_normal(shape, np.float32)


def matrix(rng, rows, columns, layout):
    """One of the layouts that a library takes as it is."""
    if layout == "transposed":
        return values(rng, columns, rows).T
    if layout == "part of wider rows":
        return values(rng, rows, columns + 5)[:, 2 : 2 + columns]
    if layout == "part of taller columns":
        return values(rng, columns, rows + 3)[:, 1 : 1 + rows].T
    return values(rng, rows, columns)


LAYOUTS = ("plain", "transposed", "part of wider rows", "part of taller columns")


@pytest.fixture(params=NAMES)
def multiply(request, monkeypatch):
    return Products(load(monkeypatch, request.param))


def test_every_layout_is_multiplied_as_numpy_does(multiply):
    @settings(max_examples=60)
    @given(LENGTHS, LENGTHS, LENGTHS, *(st.sampled_from(LAYOUTS),) * 2, st.booleans())
    def compare(m, k, n, first, second, wide):
        rng = np.random.default_rng(m * 400 + k * 20 + n)
        a, b = matrix(rng, m, k, first), matrix(rng, k, n, second)
        whole = np.full((m, n + 4), 7, np.float32)
        out = whole[:, :n] if wide else np.full((m, n), 7, np.float32)
        assert multiply(a, b, out=out) is out
        assert np.allclose(out, a @ b, rtol=1e-4, atol=1e-4)
        assert (whole[:, n:] == 7).all()

    compare()


def test_leading_axes_are_gone_through_and_repeated(multiply):
    """As attention has them: query heads beside shared keys, in rows of all heads' channels."""
    rng = np.random.default_rng(0)
    q = values(rng, 2 * 5, 2 * 3 * 4).reshape(2, 5, 2, 3, 4).transpose(0, 2, 3, 1, 4)
    k = values(rng, 2 * 5, 2 * 4).reshape(2, 5, 2, 1, 4).transpose(0, 2, 3, 1, 4)
    scores = multiply(q, k.swapaxes(3, 4))
    assert np.allclose(scores, q @ k.swapaxes(3, 4), atol=1e-5)
    y = np.zeros((2 * 5, 2 * 3 * 4), np.float32)
    multiply(scores, k, out=y.reshape(2, 5, 2, 3, 4).transpose(0, 2, 3, 1, 4))
    expected = (scores @ k).transpose(0, 3, 1, 2, 4).reshape(10, 24)
    assert np.allclose(y, expected, atol=1e-4)
    assert multiply.library.calls == 2 * 2 * 2 * 3


def test_what_would_need_a_copy_is_refused(multiply):
    rng = np.random.default_rng(0)
    a, b = values(rng, 6, 4), values(rng, 4, 8)
    cases = [
        ((values(rng, 6, 8)[:, ::2], b, None), "neither in rows nor in columns"),
        ((a[::-1], b, None), "neither in rows nor in columns"),
        ((np.broadcast_to(a[:1], (6, 4)), b, None), "neither in rows nor in columns"),
        ((a, b, np.empty((8, 6), np.float32).T), "cannot be written"),
        ((a.astype(np.float64), b, None), "float64"),
        ((a, b, np.empty((6, 8))), "float64"),
        ((a, b[:3], None), "product of"),
        ((a, b, np.empty((6, 7), np.float32)), "product of"),
        ((a[:0], b, None), "empty"),
    ]
    for (first, second, out), said in cases:
        with pytest.raises(EngineError, match=said):
            multiply(first, second, out=out)
    square = values(rng, 4, 4)
    with pytest.raises(EngineError, match="over its factors"):
        multiply(square, square, out=square)
    fixed = np.empty((6, 8), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(EngineError, match="cannot be written"):
        multiply(a, b, out=fixed)
    assert multiply.library.calls == 0


SHAPES = {
    "small": SIZES,
    "odd": {"n_layer": 1, "n_embd": 30, "n_head": 3, "seq_len": 77, "batch_size": 2},
    "one token": {"n_layer": 1, "n_embd": 8, "n_head": 1, "seq_len": 1, "batch_size": 6},
    "one number": {"n_layer": 1, "n_embd": 8, "n_head": 8, "seq_len": 1, "vocab_size": 257},
    "shared heads": {"n_layer": 1, "n_embd": 32, "n_head": 4, "n_kv_head": 2, "seq_len": 9},
    "sliding, gated": {
        "n_layer": 1,
        "n_embd": 32,
        "seq_len": 24,
        "attention": "sliding",
        "window": 8,
        "activation": "swiglu",
        "tied": False,
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_the_engine_trains_as_with_numpys_own(name, shape, monkeypatch, batch_of):
    give(monkeypatch, name)
    experiment = NUMPY.but(**SHAPES[shape])
    weights = initial.initial_weights(experiment)
    mine = engines.build(experiment.but(matmul_backend=name), weights)
    reference = engines.build(experiment, weights)
    ignored = min(5, experiment.training.seq_len - 1)
    batches = [batch_of(experiment, seed=i, ignored=ignored) for i in range(3)]
    gradients, expected = mine.gradients(batches[0]), reference.gradients(batches[0])
    for key, gradient in expected.items():
        largest = max(np.abs(gradient).max(), 1e-8)
        assert np.abs(gradients[key] - gradient).max() <= 1e-5 * largest, key
    for batch in batches:
        assert mine.train_step(batch) == pytest.approx(reference.train_step(batch), rel=1e-5)
    evidence = mine.evidence(batches[0])
    experiment = experiment.but(matmul_backend=name)
    assert evidence.products_by_library == {name: numpy_products(experiment)}
    inforce.require(executed.checks(experiment, evidence))


def built(name, small, monkeypatch):
    give(monkeypatch, name)
    experiment = small.but(engine="numpy", attention_backend="manual", matmul_backend=name)
    return experiment, NumpyEngine(experiment, initial.initial_weights(experiment))


@pytest.mark.parametrize("name", NAMES)
def test_one_product_that_stayed_with_numpy_is_found(name, small, monkeypatch, batch_of):
    experiment, engine = built(name, small, monkeypatch)
    engine._gpt._heads._multiply = np.matmul
    with pytest.raises(inforce.NotInForce, match=f"matrix products by library.*'{name}'"):
        inforce.require(executed.checks(experiment, engine.evidence(batch_of(experiment))))


@pytest.mark.parametrize("name", NAMES)
def test_an_engine_that_does_not_use_it_is_found(name, small, monkeypatch, batch_of):
    experiment, _ = built(name, small, monkeypatch)
    lying = NumpyEngine(
        experiment.but(matmul_backend="default"), initial.initial_weights(experiment)
    )
    with pytest.raises(inforce.NotInForce, match="matrix products by library"):
        inforce.require(executed.checks(experiment, lying.evidence(batch_of(experiment))))


def test_readings_name_the_library_and_its_threads(small, monkeypatch):
    _, engine = built("openblas", small, monkeypatch)
    default = NUMPY.but(n_layer=1)
    other = NumpyEngine(default, initial.initial_weights(default))
    # Another test's engine may have left this process's libraries with threads of their own.
    with threadpoolctl.threadpool_limits(1, "blas"):
        blas, plain = engine.readings()["blas"], other.readings()["blas"]
    assert blas["name"] == "openblas" and "OpenBLAS" in blas["version"]
    assert blas["threads"] == 1 and "openblas" in blas["path"]
    assert plain["name"] and plain["threads"] == 1
    json.dumps([blas, plain])


def test_float64_and_a_path_that_was_not_given_are_refused(small, monkeypatch):
    experiment = small.but(engine="numpy", attention_backend="manual", matmul_backend="onednn")
    weights = initial.initial_weights(experiment)
    with pytest.raises(EngineError, match="matmul_backend = 'onednn': fp32 only"):
        NumpyEngine(experiment, weights, np.float64)
    monkeypatch.delenv("CPUTRAIN_MATMUL_LIBRARY", raising=False)
    with pytest.raises(EngineError, match="CPUTRAIN_MATMUL_LIBRARY does not say"):
        NumpyEngine(experiment, weights)
