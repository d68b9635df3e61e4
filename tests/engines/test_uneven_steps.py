"""A step's loss is the mean over all of its counted targets, however they are cut."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from settled import SMALL

from cputrain import engines
from cputrain.data.batches import IGNORE, Batch
from cputrain.engines.accumulating import mean, weighed
from cputrain.machine import compilers
from cputrain.model.initial import initial_weights
from cputrain.worker.stepper import Stepper

LINEAR = {"eps": 1.0, "learning_rate": 0.5, "n_layer": 1}
"""AdamW whose first steps are as long as its gradients, so that rounding stays small."""
SGD = {"optimizer": "sgd", "optimizer_kernel": "default", "learning_rate": 0.5}
BERT = {"engine": "torch", "architecture": "bert", "vocab_size": 300}
PADDED = {"packing": "padded"}
NODES = {**BERT, **SGD, "objective": "masked_node"}
CASES = {
    "torch": {"engine": "torch", **PADDED, **SGD},
    "torch, by chunks": {"engine": "torch", "loss_chunk": 20, **PADDED, **SGD},
    "torch, compiled": {"engine": "torch", "compile": "aot_eager", **PADDED, **SGD},
    "torch, packed": {"engine": "torch", **SGD},
    "masked": {**BERT, **SGD, "objective": "masked"},
    "masked nodes": NODES,
    "masked nodes, by chunks": {**NODES, "loss_chunk": 20},
    "masked nodes, compiled": {**NODES, "compile": "aot_eager"},
    "jax": {"engine": "jax", "compile": "xla", **PADDED},
    "jax, packed": {"engine": "jax", "compile": "xla"},
    "numpy": {"engine": "numpy", "attention_backend": "manual", **PADDED},
    "native": {"engine": "native", "attention_backend": "manual", **PADDED},
}
PARTS = ("inputs", "targets", "relations", "node_targets")


def case(name, **changes):
    return SMALL.but(**{**LINEAR, **CASES[name], "batch_size": 4, **changes})


def made(name, **changes):
    experiment = case(name, **changes)
    kind = experiment.runtime.engine
    if kind in ("torch", "jax"):
        pytest.importorskip(kind)
    if kind == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    return engines.build(experiment, initial_weights(experiment))


def rows(name, seed=0, counts=(24, 1, 3, 7), of_nodes=(2, 12, 5, 1)):
    """Four sequences, of which so many targets count."""
    rng = np.random.default_rng(seed)

    def targets(counts):
        drawn = rng.integers(0, 257, (4, 24))
        return np.where(np.arange(24) < np.array(counts)[:, None], drawn, IGNORE)

    parts = [rng.integers(0, 257, (4, 24)), targets(counts)]
    if name.startswith("masked nodes"):
        parts += [rng.integers(0, 13, (4, 24)), targets(of_nodes)]
    return Batch(*parts)


def cut(batch, pieces):
    each = [np.split(a, pieces) for p in PARTS if (a := getattr(batch, p)) is not None]
    return [Batch(*parts) for parts in zip(*each, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_a_batch_cut_into_micro_batches_trains_the_same(name):
    whole, parts = made(name), made(name, batch_size=1, grad_accum=4)
    before = whole.weights()
    for seed in range(2):
        batch = rows(name, seed)
        loss = parts.train_step(*cut(batch, 4))
        assert loss == pytest.approx(whole.train_step(batch), rel=1e-5)
    after = parts.weights()
    for weight, expected in whole.weights().items():
        moved = np.abs(expected - before[weight]).max()
        assert np.abs(after[weight] - expected).max() <= 1e-4 * moved + 1e-7, weight


@pytest.mark.parametrize("name", CASES)
def test_a_micro_batch_without_targets_changes_nothing(name):
    with_it, without = made(name, batch_size=2, grad_accum=2), made(name, batch_size=2)
    batch = rows(name, counts=(24, 3, 0, 0), of_nodes=(2, 12, 0, 0))
    if name.startswith("masked nodes"):
        pytest.skip("every sequence has a masked token and a masked node")
    loss = with_it.train_step(*cut(batch, 2))
    assert loss == pytest.approx(without.train_step(cut(batch, 2)[0]), rel=1e-5)
    assert all(np.isfinite(weight).all() for weight in with_it.weights().values())


@pytest.mark.parametrize("name", [n for n in CASES if not n.startswith("jax")])
def test_alike_the_numbers_are_those_of_the_plain_mean(name):
    mine, twin = (made(name, batch_size=1, grad_accum=3) for _ in range(2))
    for seed in range(2):
        batches = cut(rows(name, seed, (24,) * 4, (9,) * 4), 4)[:3]
        expected = sum(twin.accumulate(batch, 1 / 3) for batch in batches) * (1 / 3)
        twin.update()
        assert mine.train_step(*batches) == expected
    for weight, expected in twin.weights().items():
        assert np.array_equal(mine.weights()[weight], expected), weight


def test_a_step_of_which_a_part_is_run_weighs_that():
    run = {"batch_size": 1, "grad_accum": 4, "micro_batches": 2}
    first = cut(rows("numpy"), 2)[0]
    upcoming = iter(cut(first, 2))
    feed = SimpleNamespace(next=lambda: next(upcoming), check=lambda _: None)
    stepper = Stepper(case("numpy", **run), made("numpy", **run), feed)
    stepper.train(1)
    expected = made("numpy", batch_size=2).train_step(first)
    assert stepper.losses == [pytest.approx(expected, rel=1e-5)]


def test_jax_has_one_program_for_even_and_uneven_steps():
    """Another one would be compiled on the clock, as a packed epoch ends in a short sequence."""
    pytest.importorskip("jax")
    mine = made("jax, packed", batch_size=1, grad_accum=4)
    mine.train_step(*cut(rows("jax", 1, (24,) * 4), 4))
    step = mine.compiled["step"]
    mine.train_step(*cut(rows("jax"), 4))
    assert list(mine.compiled) == ["step"] and mine.compiled["step"] is step


def test_compiled_nodes_have_one_graph():
    pytest.importorskip("torch")._dynamo.reset()
    mine = made("masked nodes, compiled", batch_size=1, grad_accum=4)
    batches = cut(rows("masked nodes"), 4)
    mine.loss(batches[0])
    mine.train_step(*batches)
    mine.train_step(*batches[:1] * 4)
    evidence = mine.evidence(batches[0])
    assert (evidence.graphs, evidence.recompiles) == (1, 0)


def test_shares_are_of_the_counted_targets():
    batches = cut(rows("masked nodes"), 4)
    pairs = weighed(batches)
    assert [share for _, share in pairs] == [n / 35 for n in (24, 1, 3, 7)]
    of_nodes = [share * batch.node_weight for batch, share in pairs]
    assert of_nodes == pytest.approx([n / 20 for n in (2, 12, 5, 1)])
    assert [share for _, share in weighed(batches, parts=2)] == [n / 35 for n in (48, 2, 6, 14)]


def test_alike_every_share_is_one_over_how_many():
    for many in range(1, 40):
        batches = [cut(rows(""), 4)[3]] * many
        pairs = weighed(batches)
        assert [share for _, share in pairs] == [1 / many] * many
        assert all(batch is given for (batch, _), given in zip(pairs, batches, strict=True))
    nothing = dataclasses.replace(batches[0], targets=np.full((1, 24), IGNORE))
    assert [share for _, share in weighed([nothing] * 3)] == [1 / 3] * 3


def test_a_loss_without_a_share_is_left_out():
    assert mean([2.0, math.nan, 4.0], [0.25, 0.0, 0.75]) == 3.5
    assert mean([math.nan], [0.0]) == 0.0
    assert mean([0.1, 0.2, 0.3], [1 / 3] * 3) == (0.1 + 0.2 + 0.3) * (1 / 3)
