"""The optimizer of the compiled step is read from what a step did to the weights."""

import dataclasses

import numpy as np
import pytest
from settled import settled

from cputrain.data.batches import Batch
from cputrain.engines import executed
from cputrain.model.initial import initial_weights

jax = pytest.importorskip("jax")

from cputrain.engines.jax_ import engine, optimizers  # noqa: E402

SMALL = settled(
    engine="jax",
    compile="xla",
    n_layer=1,
    n_embd=32,
    n_head=2,
    seq_len=24,
    batch_size=2,
)
LION = {"optimizer": "lion", "optimizer_kernel": "default", "learning_rate": 1e-4}
PLACES = "weights where the optimizer's formula puts them"
MOMENTS = "weights with the moments of their gradient"


@pytest.fixture(autouse=True)
def programs_of_its_own(monkeypatch):
    monkeypatch.setattr(engine, "Steps", getattr(engine.Steps, "__wrapped__", engine.Steps))


def look(experiment):
    """The engine after two steps, and its second look."""
    ids = np.random.default_rng(0).integers(0, 256, (2, 25))
    batch = Batch(ids[:, :-1], ids[:, 1:])
    built = engine.build(experiment, initial_weights(experiment))
    for _ in range(2):
        built.train_step(*[batch] * experiment.training.grad_accum)
    first = built.looked(batch)
    assert first.evidence.followed is None and first.gradients is None
    return built, batch, built.looked(batch)


def failed(experiment, evidence):
    return {c.name for c in executed.checks(experiment, evidence) if not c.ok} & {PLACES, MOMENTS}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"grad_accum": 2},
        {"precision": "mixed"},
        {"precision": "bf16"},
        {"lr_warmup_steps": 100, "beta2": 0.999, "weight_decay": 0.0},
        LION,
        {**LION, "precision": "bf16"},
    ],
    ids=str,
)
def test_right_updates_pass_and_the_gradients_are_those_of_the_step(changes):
    experiment = SMALL.but(**changes)
    built, batch, looked = look(experiment)
    before, steps = built.weights(), built.steps_done
    assert looked.evidence.followed.looked > 5_000
    assert failed(experiment, looked.evidence) == set()
    for name, gradient in built.gradients(batch).items():
        assert np.array_equal(looked.gradients[name], gradient)
    after = built.weights()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert built.steps_done == steps == 2


@pytest.mark.parametrize(
    ("changes", "instead", "named"),
    [
        ({}, {"weight_decay": 0.0}, (PLACES,)),
        ({}, {"weight_decay": 0.11}, (PLACES,)),
        ({}, {"learning_rate": 3.001e-4}, (PLACES,)),
        ({}, {"eps": 1e-6}, (PLACES,)),
        ({}, {"beta1": 0.8}, (MOMENTS,)),
        ({}, {"beta2": 0.99}, (PLACES, MOMENTS)),
        ({}, {"lr_warmup_steps": 2}, (PLACES,)),
        (LION, {"weight_decay": 0.0}, (PLACES,)),
        ({"precision": "bf16"}, {"learning_rate": 1e-3}, (PLACES,)),
    ],
    ids=str,
)
def test_another_setting_of_the_optimizer_is_named(changes, instead, named, monkeypatch):
    experiment, make = SMALL.but(**changes), optimizers.make
    other = dataclasses.replace(experiment.training, **instead)
    monkeypatch.setattr(optimizers, "make", lambda training: make(other))
    _, _, looked = look(experiment)
    assert failed(experiment, looked.evidence) >= {*named}


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "sgd", "optimizer_kernel": "default"},
        {"dropout": 0.1, "attention_backend": "manual"},
    ],
    ids=str,
)
def test_where_a_step_does_not_tell_gradients_nothing_is_said(changes):
    experiment = SMALL.but(**changes)
    _, _, looked = look(experiment)
    assert looked.gradients is None and looked.evidence.followed is None
    assert failed(experiment, looked.evidence) == set()
