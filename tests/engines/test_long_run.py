"""Every engine steered: a rate that changes, gradients held to a norm, its state put back."""

import importlib.util

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.engines import EngineError
from cputrain.engines.long_run import long_run
from cputrain.machine import compilers
from cputrain.model.initial import initial_weights

SMALL = settled(n_layer=1, n_embd=32, n_head=2, seq_len=16, batch_size=2, weight_decay=0.1)
ENGINES = {
    "torch": {"attention_backend": "manual"},
    "numpy": {"attention_backend": "manual"},
    "native": {"attention_backend": "manual"},
    "jax": {"compile": "xla"},
}
RATES = [0.002, 0.01, 0.01, 0.006, 0.003, 0.001]
CLIP = 0.5
"""Less than the norm of the first gradients."""


def experiment_of(name, **changes):
    if name != "numpy" and name != "native" and importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    if name == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    return SMALL.but(engine=name, **{**ENGINES[name], **changes})


def built(experiment, clip=CLIP):
    engine = engines.build(experiment, initial_weights(experiment))
    return engine, long_run(engine, clip)


def losses(engine, hand, batches, rates):
    lost = []
    for batch, rate in zip(batches, rates, strict=True):
        hand.set_rate(rate)
        lost.append(engine.train_step(batch))
    return lost


@pytest.fixture
def batches(batch_of):
    return [batch_of(SMALL, seed) for seed in range(len(RATES))]


@pytest.mark.parametrize(
    ("name", "clip"),
    # Of JAX one: each of its programs takes seconds to compile.
    [("torch", CLIP), ("torch", None), ("native", CLIP), ("native", None), ("jax", CLIP)],
)
def test_losses_follow_the_reference_with_schedule_and_clipping(name, clip, batches):
    expected = losses(*built(experiment_of("numpy"), clip), batches, RATES)
    assert losses(*built(experiment_of(name), clip), batches, RATES) == pytest.approx(
        expected, rel=1e-3
    )


def test_rate_and_norm_change_what_is_learned(batches):
    base = losses(*built(experiment_of("numpy"), None), batches, RATES)
    assert losses(*built(experiment_of("numpy"), CLIP), batches, RATES) != base
    assert losses(*built(experiment_of("numpy"), None), batches, [0.002] * len(RATES)) != base


def test_a_norm_that_is_not_reached_changes_nothing(batches):
    for name in ("numpy", "torch"):
        plain = losses(*built(experiment_of(name), None), batches, RATES)
        assert losses(*built(experiment_of(name), 1e6), batches, RATES) == plain


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_with_state_put_back_goes_on_bit_for_bit(name, batches):
    experiment = experiment_of(name)
    engine, hand = built(experiment)
    losses(engine, hand, batches[:3], RATES[:3])
    weights, state = engine.weights(), hand.state()
    expected = losses(engine, hand, batches[3:], RATES[3:])

    other, its_hand = built(experiment)
    other.load_weights(weights)
    its_hand.load_state(state)
    assert other.steps_done == 3
    assert losses(other, its_hand, batches[3:], RATES[3:]) == expected
    assert all(
        np.array_equal(a, b)
        for a, b in zip(engine.weights().values(), other.weights().values(), strict=True)
    )


def test_jax_counts_the_updates_of_an_optimizer_without_moments(batches):
    experiment = experiment_of("jax", optimizer="sgd")
    engine, hand = built(experiment)
    losses(engine, hand, batches[:2], RATES[:2])
    assert engine.steps_done == 2
    other, its_hand = built(experiment)
    its_hand.load_state(hand.state())
    assert other.steps_done == 2


@pytest.mark.parametrize("optimizer", ["sgd", "lion", "adafactor"])
def test_other_optimizers_of_torch_go_on_too(optimizer, batches):
    experiment = experiment_of("torch", optimizer=optimizer, optimizer_kernel="default")
    experiment = experiment.but(dropout=0.1)
    engine, hand = built(experiment)
    losses(engine, hand, batches[:3], RATES[:3])
    weights, state = engine.weights(), hand.state()
    expected = losses(engine, hand, batches[3:], RATES[3:])
    other, its_hand = built(experiment)
    other.load_weights(weights)
    its_hand.load_state(state)
    assert losses(other, its_hand, batches[3:], RATES[3:]) == expected


def test_clipping_does_not_hide_the_kernel_of_the_optimizer(batches):
    experiment = experiment_of("torch", optimizer="lion", optimizer_kernel="default")
    engine, hand = built(experiment)
    losses(engine, hand, batches[:1], RATES[:1])
    assert engine.evidence(batches[0]).optimizer_kernel == "default"


@pytest.mark.parametrize("name", ENGINES)
def test_a_state_of_another_shape_is_refused(name, batches):
    engine, hand = built(experiment_of(name))
    if name == "torch":  # the others have theirs from the start
        losses(engine, hand, batches[:1], RATES[:1])
    state = hand.state()
    _, wider = built(experiment_of(name, n_embd=64))
    with pytest.raises(EngineError, match="optimizer's state"):
        wider.load_state(state)
    state.pop(next(iter(state)))
    with pytest.raises(EngineError, match="optimizer's state"):
        hand.load_state(state)
