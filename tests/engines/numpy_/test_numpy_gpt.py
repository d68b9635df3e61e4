"""The reference's gradients against the slopes of its loss, for every variant that it has."""

import numpy as np
import pytest

from cputrain.engines import EngineError
from cputrain.engines.numpy_.engine import NumpyEngine
from cputrain.model import initial

VARIANTS = {
    "baseline": {},
    "one key head": {"n_head": 4, "n_kv_head": 1},
    "two key heads of three channels": {"n_head": 4, "n_kv_head": 2, "head_dim": 3},
    "local": {"attention": "local", "window": 3},
    "sliding": {"attention": "sliding", "window": 3},
    "untied": {"tied": False},
    "ratio 3": {"mlp_ratio": 3},
    **{name: {"activation": name} for name in ("gelu_tanh", "silu", "swiglu", "relu2")},
}


def made(experiment, rng, dtype=np.float64):
    """An engine with weights larger than at the start: every path through the model matters."""
    experiment = experiment.but(engine="numpy", attention_backend="manual")
    weights = {
        name: 10 * w.astype(np.float64) + 0.1 * rng.standard_normal(w.shape)
        for name, w in initial.initial_weights(experiment).items()
    }
    return NumpyEngine(experiment, weights, dtype), weights


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_are_the_slopes_of_the_loss(variant, small, batch_of):
    """Central differences in float64, along a random direction."""
    experiment = small.but(n_embd=8, seq_len=9, batch_size=2, **VARIANTS[variant])
    batch, rng = batch_of(experiment), np.random.default_rng(0)
    engine, weights = made(experiment, rng)
    for name, gradient in engine.gradients(batch).items():
        direction = rng.standard_normal(gradient.shape)
        direction /= np.linalg.norm(direction)
        losses = []
        for step in (1e-4, -1e-4):
            engine.load_weights({**weights, name: weights[name] + step * direction})
            losses.append(engine.loss(batch))
        engine.load_weights(weights)
        slope = (losses[0] - losses[1]) / 2e-4
        expected = float((gradient * direction).sum())
        assert slope == pytest.approx(expected, rel=1e-3, abs=1e-3 * np.linalg.norm(gradient)), name


def test_micro_batches_add_up_to_the_large_batch(small, batch_of):
    """Targets that count are alike in number, so the mean of means is the mean of all."""
    rng = np.random.default_rng(0)
    whole, weights = made(small.but(batch_size=4), rng)
    parts = small.but(engine="numpy", attention_backend="manual", batch_size=1, grad_accum=4)
    parts = NumpyEngine(parts, weights, np.float64)  # k's bias has a gradient of rounding alone
    batch = batch_of(small.but(batch_size=4), ignored=0)
    halves = [type(batch)(batch.inputs[i : i + 1], batch.targets[i : i + 1]) for i in range(4)]
    assert parts.train_step(*halves) == pytest.approx(whole.train_step(batch), rel=1e-5)
    expected = whole.weights()
    for name, weight in parts.weights().items():
        difference = np.abs(weight - expected[name])
        assert np.quantile(difference, 0.99) < 1e-5, name
    assert parts.steps_done == whole.steps_done == 1


def test_what_is_looked_at_between_does_not_disturb_the_sum(small, batch_of):
    first, second = batch_of(small, 1), batch_of(small, 2)
    engines = [made(small, np.random.default_rng(0))[0] for _ in range(2)]
    engines[0].train_step(first, second)
    engines[1].accumulate(first, 0.5)
    engines[1].gradients(batch_of(small, 3))
    engines[1].loss(batch_of(small, 4))
    engines[1].accumulate(second, 0.5)
    engines[1].update()
    alike = engines[1].weights()
    assert all(np.array_equal(w, alike[name]) for name, w in engines[0].weights().items())


def test_an_update_of_nothing_is_refused(small):
    engine, _ = made(small, np.random.default_rng(0))
    with pytest.raises(EngineError, match="accumulate"):
        engine.update()


def test_the_rate_grows_over_the_warm_up(small, batch_of):
    """AdamW's first step is the rate times the gradient's sign, whatever its size."""
    moves = []
    for warm_up in (0, 4):
        engine, weights = made(
            small.but(lr_warmup_steps=warm_up, weight_decay=0.0), np.random.default_rng(0)
        )
        before = weights["wpe"].astype(np.float32)
        for step in range(5):
            engine.train_step(batch_of(small, step))
            if step == 0:
                moves.append(np.abs(engine.weights()["wpe"] - before).max())
            rate = small.training.learning_rate * min(1.0, (step + 1) / warm_up if warm_up else 1)
            assert engine.optimizer.rate == pytest.approx(rate)
    assert moves[0] / moves[1] == pytest.approx(4, rel=0.01)


def test_state_is_two_numbers_for_each_weight(small):
    engine, weights = made(small, np.random.default_rng(0), np.float32)
    size = sum(array.size for array in weights.values())
    assert size * 8 <= engine.state_bytes() < size * 8 * 1.05  # tensors start aligned
