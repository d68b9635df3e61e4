"""Fine-tuning: what is frozen stays, what is added starts from nothing."""

import numpy as np
import pytest
from made_engine import DROPS, build, differing, make_batch
from settled import SMALL

from cputrain.engines import EngineError
from cputrain.model import initial, shapes
from cputrain.model.lora import ALPHA

torch = pytest.importorskip("torch")

TUNED = {
    "gpt lora": {"fine_tuning": "lora"},
    "llama lora": {"fine_tuning": "lora", "architecture": "llama", "n_kv_head": 1},
    "head": {"fine_tuning": "head", "tied": False},
    "bf16 lora": {"fine_tuning": "lora", "precision": "bf16"},
    "dropout lora": {"fine_tuning": "lora", **DROPS},
    "checkpointed lora": {"fine_tuning": "lora", "activation_checkpointing": True},
    "compiled lora": {"fine_tuning": "lora", "compile": "aot_eager", "n_layer": 1},
    "compiled head": {
        "fine_tuning": "head",
        "tied": False,
        "compile": "aot_eager",
        "n_layer": 1,
    },
    "q4 lora": {"fine_tuning": "lora", "precision": "q4"},
    "torchao int8 lora": {"fine_tuning": "lora", "precision": "q8_torchao"},
    "torchao bitnet lora": {"fine_tuning": "lora", "precision": "bitnet_torchao"},
}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def started(experiment):
    """Weights of a model that has trained a little, with what fine-tuning adds to them."""
    plain = experiment.but(fine_tuning="scratch", precision="fp32", compile="eager", dropout=0.0)
    engine = build(plain.but(learning_rate=0.01))
    for _ in range(5):
        engine.train_step(make_batch(experiment, seed=7))
    return initial.initial_weights(experiment) | engine.weights()


@pytest.mark.parametrize("name", TUNED)
def test_only_what_is_trained_changes(name):
    experiment = SMALL.but(learning_rate=0.01, **TUNED[name])
    free = set(shapes.trained(experiment))
    engine = build(experiment, started(experiment))
    batch = make_batch(experiment)
    before, first = engine.weights(), engine.loss(batch)
    gradients = engine.gradients(batch)
    assert set(gradients) == free
    assert all(np.isfinite(gradient).all() for gradient in gradients.values())
    for _ in range(8):
        engine.train_step(batch)
    assert engine.steps_done == 8
    assert differing(before, engine.weights()) == free
    assert engine.loss(batch) < first
    changed = engine.weights()
    evidence = engine.evidence(batch)
    assert evidence.optimizer_kernel == "fused"
    is_eager = experiment.runtime.compile == "eager"
    expected = (None, None, None) if is_eager else (1, 0, 0)
    assert (evidence.graphs, evidence.recompiles, evidence.graph_breaks) == expected
    assert differing(changed, engine.weights()) == set()


@pytest.mark.parametrize("name", ["gpt lora", "llama lora", "q4 lora"])
def test_the_first_pass_is_that_of_the_start_model(name):
    experiment = SMALL.but(**TUNED[name])
    weights = started(experiment)
    plain = {n: w for n, w in weights.items() if ".lora_" not in n}
    tuned, start = build(experiment, weights), build(experiment.but(fine_tuning="scratch"), plain)
    batch = make_batch(experiment)
    assert tuned.loss(batch) == start.loss(batch)
    # a sees no gradient while b is 0, and b does.
    gradients = tuned.gradients(batch)
    for layer, gradient in gradients.items():
        assert bool(gradient.any()) == layer.endswith("lora_b"), layer


@pytest.mark.parametrize("name", ["gpt lora", "llama lora"])
def test_merged_weights_give_the_same_model(name):
    """Hu et al. 2022, sec. 4.1: W + b a (alpha / rank) in place of both."""
    experiment = SMALL.but(learning_rate=0.02, **TUNED[name])
    engine = build(experiment, started(experiment))
    for seed in range(10):
        engine.train_step(make_batch(experiment, seed))
    weights = engine.weights()
    merged = {n: w for n, w in weights.items() if ".lora_" not in n}
    adapted = [n.removesuffix(".lora_a") for n in weights if n.endswith(".lora_a")]
    assert len(adapted) == 2 * experiment.model.n_layer
    for layer in adapted:
        a, b = weights[f"{layer}.lora_a"], weights[f"{layer}.lora_b"]
        merged[f"{layer}.weight"] = merged[f"{layer}.weight"] + b @ a * (ALPHA / len(a))
    batch = make_batch(experiment, seed=99)
    plain = build(experiment.but(fine_tuning="scratch"), merged)
    unmerged = {n: w for n, w in weights.items() if ".lora_" not in n}
    assert plain.loss(batch) == pytest.approx(engine.loss(batch), rel=1e-5)
    start = build(experiment.but(fine_tuning="scratch"), unmerged)
    assert start.loss(batch) != pytest.approx(engine.loss(batch), rel=1e-4)


def test_a_head_gets_the_gradients_of_full_training():
    experiment = SMALL.but(**TUNED["head"])
    weights, batch = started(experiment), make_batch(SMALL)
    gradients = build(experiment, weights).gradients(batch)
    full = build(experiment.but(fine_tuning="full"), weights).gradients(batch)
    assert len(full) > 20
    assert np.allclose(gradients["head.weight"], full["head.weight"], rtol=1e-5, atol=1e-9)


def test_full_fine_tuning_trains_everything():
    experiment = SMALL.but(fine_tuning="full")
    engine = build(experiment, started(experiment))
    before = engine.weights()
    engine.train_step(make_batch(SMALL))
    assert differing(before, engine.weights()) == set(before)


def test_state_is_kept_for_what_is_trained_alone():
    experiment = SMALL.but(fine_tuning="lora")
    engine = build(experiment, started(experiment))
    engine.train_step(make_batch(SMALL))
    assert engine.state_bytes() == 2 * 4 * shapes.n_trained(experiment)


def test_weights_without_the_additions_are_refused():
    experiment = SMALL.but(fine_tuning="lora")
    plain = initial.initial_weights(SMALL)
    with pytest.raises(EngineError, match=r"weight h\.\d\.attn\.\w+\.lora_[ab]: nothing given"):
        build(experiment, plain)
