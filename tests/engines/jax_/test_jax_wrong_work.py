"""Steps that do other work than was asked for, compiled for real: each is named."""

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.data.batches import Batch
from cputrain.engines import executed
from cputrain.model.initial import initial_weights

jax = pytest.importorskip("jax")

import optax  # noqa: E402

from cputrain.engines.jax_ import engine, model, optimizers  # noqa: E402

SMALL = settled(
    engine="jax",
    compile="xla",
    n_layer=2,
    n_embd=32,
    n_head=4,
    seq_len=64,
    batch_size=2,
)
LOCAL = {"attention": "local", "window": 16}
SLIDING = {"attention": "sliding", "window": 16}
ONE = {"n_layer": 1}
DROPOUT = {"dropout": 0.1, "attention_backend": "manual"}
OPERATIONS, HEADS = "operations of matrix products", "matrices that products multiply side by side"


def failed(experiment):
    """Names of the checks that fail of a step, but for that it was compiled once."""
    training = experiment.training
    ids = np.zeros((training.batch_size, training.seq_len), np.int64)
    built = engines.build(experiment, initial_weights(experiment))
    built.train_step(*[Batch(ids, ids)] * training.grad_accum)
    checks = executed.checks(experiment, built.evidence(Batch(ids, ids)))
    return {c.name for c in checks if not c.ok} - {"compilations of the step"}


@pytest.fixture
def blocks(monkeypatch):
    """Has the model compute every second of its blocks as another experiment would."""

    def every_second(experiment):
        own = model.Gpt._block
        other, calls = model.Gpt(experiment), []

        def block(self, *arguments):
            calls.append(1)
            return own(other if len(calls) % 2 else self, *arguments)

        monkeypatch.setattr(model.Gpt, "_block", block)

    return every_second


@pytest.mark.parametrize(
    ("asked", "done", "named"),
    [
        ({**LOCAL, "attention_backend": "sdpa"}, {"attention": "full", "window": None}, OPERATIONS),
        ({**LOCAL, "attention_backend": "manual"}, {"window": 32}, OPERATIONS),
        (SLIDING, {"attention": "local"}, OPERATIONS),
        ({"attention_backend": "sdpa"}, {"attention_backend": "manual"}, "attention by hand"),
        ({}, {"n_head": 1}, HEADS),
        ({"attention_backend": "manual"}, {"n_head": 1}, HEADS),
        ({}, {"activation": "relu"}, "functions of the activation"),
        (DROPOUT, {"dropout": 0.0}, "random numbers drawn"),
    ],
    ids=str,
)
def test_other_work_in_half_of_the_layers_is_named(blocks, asked, done, named):
    experiment = SMALL.but(**asked)
    blocks(experiment.but(**done))
    assert any(named in name for name in failed(experiment))


def test_one_micro_batch_of_several_is_named(monkeypatch):
    step = engine.JaxEngine.stacked
    monkeypatch.setattr(engine.JaxEngine, "stacked", lambda self, all: step(self, all[:1]))
    assert OPERATIONS in failed(SMALL.but(**ONE, grad_accum=3))


def test_one_row_of_a_batch_is_named(monkeypatch):
    loss = model.Gpt.loss

    def first(self, weights, x, targets, key):
        one = SMALL.but(**ONE, batch_size=1)
        return loss(model.Gpt(one), weights, x[:1], targets[:1], key)

    monkeypatch.setattr(model.Gpt, "loss", first)
    assert {OPERATIONS, HEADS} <= failed(SMALL.but(**ONE))


def test_checkpointing_of_some_layers_is_named(monkeypatch):
    checkpoint, made = jax.checkpoint, []

    def once(run):
        again = checkpoint(run)

        def first(*arguments):
            made.append(1)
            return (again if len(made) == 1 else run)(*arguments)

        return first

    monkeypatch.setattr(model.jax, "checkpoint", once)
    assert OPERATIONS in failed(SMALL.but(activation_checkpointing=True))


def test_an_activation_without_its_function_is_named(monkeypatch):
    monkeypatch.setattr(model, "activation", lambda name, x, gate: x * gate)
    assert "functions of the activation" in failed(SMALL.but(**ONE, activation="swiglu"))


def test_dropout_of_attention_alone_is_named(monkeypatch):
    monkeypatch.setattr(model, "drop", lambda x, share, key: x)
    assert "random numbers drawn" in failed(SMALL.but(**ONE, **DROPOUT))


def test_another_optimizer_with_more_state_is_named(monkeypatch):
    def more(rate, b1, b2, eps, weight_decay):
        return optax.amsgrad(rate, b1, b2, eps)

    monkeypatch.setattr(optimizers.optax, "adamw", more)
    assert "numbers updated in place" in failed(SMALL.but(**ONE))


@pytest.mark.parametrize(
    "changes",
    [
        {**ONE, **DROPOUT, "grad_accum": 2},
        {**DROPOUT, **SLIDING, "activation_checkpointing": True, "n_kv_head": 2},
        {**ONE, **SLIDING, "attention_backend": "sdpa", "activation": "swiglu"},
        {**ONE, "activation": "gelu_tanh", "optimizer": "lion", "optimizer_kernel": "default"},
        {**ONE, "activation": "relu2", "optimizer": "sgd", "optimizer_kernel": "default"},
        {**ONE, "activation": "silu", "precision": "bf16", "n_head": 1, "batch_size": 1},
        {**ONE, "activation": "relu", "precision": "mixed", "activation_checkpointing": True},
    ],
    ids=str,
)
def test_right_work_passes(changes):
    assert failed(SMALL.but(**changes)) == set()
