"""JAX against the NumPy reference: losses over 10 steps, gradients, every variant."""

import numpy as np
import pytest
from gradients import gradients_agree
from settled import SIZES, settled

from cputrain import engines
from cputrain.data.batches import IGNORE, Batch
from cputrain.engines.accumulating import weighed
from cputrain.model.initial import initial_weights
from cputrain.model.shapes import weight_shapes

pytest.importorskip("jax")

JAX = settled(engine="jax", compile="xla")
SHAPES = {
    "baseline but for its depth": {"n_layer": 1},
    "small": SIZES,
    "odd": {"n_layer": 1, "n_embd": 30, "n_head": 3, "seq_len": 77, "batch_size": 2},
    "many words": {"n_layer": 1, "n_embd": 32, "seq_len": 600, "vocab_size": 3001},
}
SMALL = {"n_layer": 1, "n_embd": 32, "n_head": 4, "seq_len": 24, "batch_size": 2}
VARIANTS = {
    "local, two key heads": {"attention": "local", "window": 6, "n_kv_head": 2},
    "sliding, two key heads": {"attention": "sliding", "window": 6, "n_kv_head": 2},
}
OTHERS = {
    "two key heads": {"n_kv_head": 2, "attention_backend": "sdpa"},
    "one key head, wide": {"head_dim": 24, "n_kv_head": 1},
    "a window of all": {"attention": "sliding", "window": 24},
    "untied, gated, computed again": {
        "tied": False,
        "mlp_ratio": 2,
        "activation": "swiglu",
        "activation_checkpointing": True,
    },
}
CASES = [
    *(v | {"attention_backend": a} for v in VARIANTS.values() for a in ("sdpa", "manual")),
    *({"attention_backend": "manual"} | other for other in OTHERS.values()),
]
LOOKED_AT = ("odd", "many words")
"""Shapes whose gradients are held against NumPy's, too: a program more to compile. Those of small
shapes are in every variant."""


def pair(experiment):
    weights = initial_weights(experiment)
    plain = {"engine": "numpy", "compile": "eager", "attention_backend": "manual"}
    reference = experiment.but(**plain, activation_checkpointing=False)
    return engines.build(experiment, weights), engines.build(reference, weights)


@pytest.mark.parametrize("shape", SHAPES)
def test_ten_losses_and_the_gradients_agree(shape, batch_of):
    attention = "manual" if shape == "odd" else "sdpa"
    experiment = JAX.but(**SHAPES[shape], attention_backend=attention)
    mine, reference = pair(experiment)
    ignored = min(5, experiment.training.seq_len - 1)
    batches = [batch_of(experiment, seed=i, ignored=ignored) for i in range(10)]
    if shape in LOOKED_AT:
        gradients = mine.gradients(batches[0])
        assert gradients.keys() == weight_shapes(experiment).keys()
        gradients_agree(gradients, reference.gradients(batches[0]))
    for batch in batches:
        assert mine.train_step(batch) == pytest.approx(reference.train_step(batch), rel=1e-3)
    assert mine.steps_done == reference.steps_done == 10


@pytest.mark.parametrize("variant", CASES, ids=str)
def test_a_variant_agrees(variant, batch_of):
    changes = SMALL | variant
    mine, reference = pair(JAX.but(**changes))
    batch = batch_of(JAX.but(**changes))
    gradients_agree(mine.gradients(batch), reference.gradients(batch))
    assert mine.loss(batch) == pytest.approx(reference.loss(batch), rel=1e-5)


@pytest.mark.parametrize("way", ["one program", "one by one"])
def test_accumulated_steps_agree(way, batch_of):
    experiment = JAX.but(**{**SMALL, "batch_size": 1}, grad_accum=3, lr_warmup_steps=2)
    mine, reference = pair(experiment)
    for step in range(3):
        batches = [batch_of(experiment, seed=step * 3 + i, ignored=i) for i in range(3)]
        if way == "one by one":
            pairs = weighed(batches)
            loss = sum(share * mine.accumulate(batch, share) for batch, share in pairs)
            mine.update()
        else:
            loss = mine.train_step(*batches)
        assert loss == pytest.approx(reference.train_step(*batches), rel=1e-3)
    gradients_agree(mine.gradients(batches[0]), reference.gradients(batches[0]), most=1e-3)
    assert mine.steps_done == reference.steps_done == 3


@pytest.mark.parametrize("attention", ["sdpa", "manual"])
@pytest.mark.parametrize("window", [{}, {"attention": "sliding", "window": 6}])
def test_a_position_sees_its_window_and_nothing_that_comes_later(attention, window, batch_of):
    experiment = JAX.but(**SMALL | window, attention_backend=attention)
    mine = engines.build(experiment, initial_weights(experiment))
    batch = batch_of(experiment, ignored=0)
    targets = np.full_like(batch.targets, IGNORE)
    targets[:, 13] = batch.targets[:, 13]
    before = mine.loss(Batch(batch.inputs, targets))

    def changed(place):
        inputs = batch.inputs.copy()
        inputs[:, place] = (inputs[:, place] + 1) % 257
        return mine.loss(Batch(inputs, targets)) != pytest.approx(before, rel=1e-6)

    assert not any(changed(place) for place in range(14, 24))
    seen = range(8, 14) if window else range(14)
    assert [place for place in range(14) if changed(place)] == list(seen)
