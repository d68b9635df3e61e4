"""Micro-batches, forward passes alone, dropout, precision: what a step does in the torch engine."""

import sys

import numpy as np
import pytest
from made_engine import BERT, DROPS, build, differing, make_batch
from settled import SMALL

from cputrain.data.batches import Batch
from cputrain.engines import EngineError

torch = pytest.importorskip("torch")

from cputrain.engines.torch_.evidence import PRODUCTS  # noqa: E402

PARTS = ("inputs", "targets", "relations", "node_targets")


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def cut(batch, pieces):
    """A batch as so many micro-batches."""
    columns = [
        [None] * pieces if getattr(batch, p) is None else np.split(getattr(batch, p), pieces)
        for p in PARTS
    ]
    return [Batch(*parts) for parts in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        BERT,
        {"architecture": "llama", "activation": "swiglu"},
        {"compile": "aot_eager", "n_layer": 1},
        {"activation_checkpointing": True, "loss_chunk": 20},
    ],
    ids=["gpt", "two heads", "llama", "compiled", "checkpointed"],
)
def test_micro_batches_add_up_to_a_large_batch(changes):
    whole = SMALL.but(batch_size=4, **{"optimizer": "sgd", "learning_rate": 0.5, **changes})
    parts = whole.but(batch_size=1, grad_accum=4)
    large, small = build(whole), build(parts)
    for seed in range(2):
        batch = make_batch(whole, seed)
        expected, mean = large.gradients(batch), {}
        for micro in cut(batch, 4):
            for name, gradient in small.gradients(micro).items():
                mean[name] = mean.get(name, 0) + gradient / 4
        for name, gradient in expected.items():
            largest = np.abs(gradient).max()
            assert np.abs(mean[name] - gradient).max() <= 1e-5 * largest + 1e-8, name
        loss = large.train_step(batch)
        assert small.train_step(*cut(batch, 4)) == pytest.approx(loss, rel=1e-5)
        after = small.weights()
        for name, weight in large.weights().items():
            assert np.abs(after[name] - weight).max() < 1e-5, name
    assert small.steps_done == large.steps_done == 2


def test_looking_between_micro_batches_loses_nothing():
    experiment = SMALL.but(grad_accum=2)
    looked, plain = build(experiment), build(experiment)
    batch, other = make_batch(experiment), make_batch(experiment, 1)
    for engine in (looked, plain):
        engine.accumulate(batch, 0.5)
        if engine is looked:
            engine.gradients(other)
            engine.evidence(other)
            engine.loss(other)
        engine.accumulate(other, 0.5)
        engine.update()
    assert differing(looked.weights(), plain.weights()) == set()


def products(evidence):
    """Matrix products of the step."""
    return sum(evidence.ops.get(name, 0) for name in PRODUCTS)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("changes", [{}, DROPS], ids=["plain", "dropout"])
def test_a_forward_pass_alone_trains_nothing(backend, changes):
    trained = build(SMALL.but(n_layer=1))
    engine = build(SMALL.but(n_layer=1, objective="forward", compile=backend, **changes))
    start = engine.weights()
    for seed in range(3):
        batch = make_batch(SMALL, seed)
        loss = engine.train_step(batch)
        assert loss == pytest.approx(trained.loss(batch), rel=1e-5)  # without dropout, that is
        assert loss == engine.loss(batch)
    assert engine.steps_done == 3
    assert engine.state_bytes() == 0
    assert differing(start, engine.weights()) == set()
    gradients, expected = engine.gradients(batch), trained.gradients(batch)
    assert np.allclose(gradients["wte"], expected["wte"], rtol=1e-4, atol=1e-7)
    evidence = engine.evidence(batch)
    assert engine.steps_done == 3
    assert evidence.optimizer_kernel is None
    # A backward pass has two products for each of the forward pass.
    training = build(SMALL.but(n_layer=1, **changes)).evidence(batch)
    assert products(training) == 3 * products(evidence) > 0
    if backend != "eager":
        assert (evidence.graphs, evidence.recompiles) == (1, 0)
        assert evidence.backend_called


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_dropout_is_the_same_for_the_same_seed(backend):
    experiment = SMALL.but(n_layer=1, compile=backend, **DROPS)
    batch, runs = make_batch(SMALL), []
    for seed, look in ((0, False), (0, True), (1, False)):
        weights = build(SMALL.but(n_layer=1)).weights()
        engine = build(experiment.but(seed=seed), weights)
        losses = []
        for _ in range(3):
            losses.append(engine.train_step(batch))
            if look:
                engine.loss(batch)
                engine.gradients(batch)
                engine.evidence(batch)
        runs.append((losses, engine.weights()))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    assert differing(runs[0][1], runs[1][1]) == set()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_evaluation_drops_nothing(backend):
    plain = SMALL.but(n_layer=1, attention_backend="manual")
    dropping = build(plain.but(dropout=0.3, compile=backend))
    batch, expected = make_batch(SMALL), build(plain).loss(make_batch(SMALL))
    assert dropping.loss(batch) == pytest.approx(expected, rel=1e-5)
    assert dropping.loss(batch) == dropping.loss(batch)
    # The drops are there in training: the same weights, another loss each time.
    seen = {dropping.accumulate(batch, 1.0) for _ in range(3)}
    assert len(seen) == 3
    if backend != "eager":
        evidence = dropping.evidence(batch)
        assert (evidence.graphs, evidence.recompiles, evidence.backend_called) == (1, 0, True)


@pytest.mark.parametrize("precision", ["bf16", "mixed", "q8", "q8_torchao", "q4", "bitnet"])
def test_weights_and_gradients_are_float32_arrays(precision):
    experiment = SMALL.but(precision=precision, learning_rate=0.01)
    engine, batch = build(experiment), make_batch(SMALL)
    start = engine.weights()
    losses = [engine.train_step(batch) for _ in range(12)]
    assert losses[-1] < losses[0]
    for arrays in (engine.weights(), engine.gradients(batch)):
        assert arrays.keys() == start.keys()
        assert all(a.dtype == np.float32 and np.isfinite(a).all() for a in arrays.values())
    assert differing(start, engine.weights()) | set(engine.excused()) == set(start)
    loss = engine.loss(batch)
    engine.train_step(batch)
    assert engine.loss(batch) != loss
    again = engine.weights()
    engine.load_weights(again)
    assert differing(again, engine.weights()) == set()


def test_versions_name_torchao_where_it_is_in_use(monkeypatch):
    monkeypatch.delitem(sys.modules, "torchao", raising=False)
    assert set(build(SMALL).versions()) == {"torch", "numpy"}
    monkeypatch.undo()
    pytest.importorskip("torchao")
    assert set(build(SMALL.but(precision="q8_torchao")).versions()) == {"torch", "numpy", "torchao"}


def test_every_part_of_a_batch_has_to_have_the_right_shape():
    experiment = SMALL.but(**BERT)
    batch = make_batch(experiment)
    for part in PARTS:
        given = {p: getattr(batch, p) for p in PARTS}
        given[part] = given[part][:1]
        with pytest.raises(EngineError, match=r"batch of shape \(1, 24\)"):
            build(experiment).train_step(Batch(**given))
