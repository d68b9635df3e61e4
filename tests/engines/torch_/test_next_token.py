"""The logits that a continuation is drawn from: they give the loss that the engines give."""

import importlib.util

import numpy as np
import pytest
from settled import settled

from cputrain import engines
from cputrain.experiment import ExperimentError
from cputrain.machine import compilers
from cputrain.model.initial import initial_weights

torch = pytest.importorskip("torch")
from cputrain.data.batches import Batch  # noqa: E402
from cputrain.engines.torch_.next_token import NextToken  # noqa: E402

SIZES = {"n_layer": 2, "n_embd": 32, "n_head": 4, "seq_len": 32, "batch_size": 2}
BLOCKS = {
    "gpt": {},
    "gpt untied": {"tied": False, "activation": "relu2"},
    "dropout": {"dropout": 0.1, "attention_backend": "manual"},
    "checkpointed": {"activation_checkpointing": True},
    "local": {"attention": "local", "window": 8},
    "sliding": {"attention": "sliding", "window": 8},
    "llama": {"architecture": "llama", "activation": "swiglu"},
    "llama, shared keys": {"architecture": "llama", "n_kv_head": 2, "tied": False},
    "moe": {"architecture": "moe"},
    "lstm": {"architecture": "lstm"},
    "gmlp": {"architecture": "gmlp"},
    "ssm": {"architecture": "ssm"},
    "mixed": {"precision": "mixed"},
    "bf16": {"precision": "bf16"},
    "bitnet": {"precision": "bitnet"},
}


def weights_of(experiment):
    """Large enough that every tensor matters."""
    draw = np.random.default_rng(5)
    return {
        name: (array + 0.1 * draw.standard_normal(array.shape)).astype(np.float32)
        for name, array in initial_weights(experiment).items()
    }


def batch_of(experiment):
    shape = (experiment.training.batch_size, experiment.training.seq_len + 1)
    ids = np.random.default_rng(3).integers(0, experiment.model.vocab_size, shape)
    return Batch(np.ascontiguousarray(ids[:, :-1]), np.ascontiguousarray(ids[:, 1:]))


def loss_of(logits, targets):
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    likely = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(likely, targets[..., None], axis=-1).mean()


@pytest.mark.parametrize("name", BLOCKS)
def test_they_give_the_loss_of_the_engine_that_trained(name):
    experiment = settled(**{**SIZES, **BLOCKS[name]})
    engine, batch = engines.build(experiment, weights_of(experiment)), batch_of(experiment)
    trained = engine.weights()
    loss = loss_of(NextToken(experiment, trained).all_logits(batch.inputs), batch.targets)
    rough = {"mixed": 2e-3, "bf16": 2e-3}.get(name, 1e-5)
    assert loss == pytest.approx(engine.loss(batch), rel=rough)
    trained["wte"] *= 1.5
    other = loss_of(NextToken(experiment, trained).all_logits(batch.inputs), batch.targets)
    assert other != pytest.approx(engine.loss(batch), rel=rough)


@pytest.mark.parametrize("name", ["numpy", "native", "jax"])
def test_they_give_the_loss_of_every_other_engine(name):
    if name == "jax" and importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    if name == "native" and not compilers.is_here("gcc"):
        pytest.skip("gcc is not installed")
    experiment = settled(**SIZES, engine=name)
    engine, batch = engines.build(experiment, weights_of(experiment)), batch_of(experiment)
    model = NextToken(experiment, engine.weights())
    loss = loss_of(model.all_logits(batch.inputs), batch.targets)
    assert loss == pytest.approx(engine.loss(batch), rel=1e-4)


@pytest.mark.parametrize("name", [n for n in BLOCKS if n not in ("mixed", "bf16", "bitnet")])
def test_what_stands_after_the_tokens_and_how_long_the_model_is_does_not_matter(name):
    experiment = settled(**{**SIZES, **BLOCKS[name]})
    weights, ids = weights_of(experiment), batch_of(experiment).inputs
    whole = NextToken(experiment, weights)
    expected = whole.all_logits(ids)
    for count in (1, 5, 13):
        row = whole.logits(ids[0, :count].tolist())
        assert np.allclose(row, expected[0, count - 1], rtol=1e-4, atol=1e-5)
        short = NextToken(experiment, weights, most=13).logits(ids[0, :count].tolist())
        assert np.allclose(short, expected[0, count - 1], rtol=1e-4, atol=1e-5)
    assert not np.allclose(expected[0, 4], expected[0, 5], atol=1e-2)


def test_a_short_text_is_not_computed_at_the_whole_length():
    experiment = settled(**SIZES)
    assert NextToken(experiment, weights_of(experiment), most=9).length == 9
    assert NextToken(experiment, weights_of(experiment), most=99).length == 32
    cut = settled(**{**SIZES, **BLOCKS["local"]})
    assert NextToken(cut, weights_of(cut), most=9).length == 16


def test_a_model_of_masked_tokens_is_refused_by_name():
    experiment = settled(
        **{**SIZES, "architecture": "bert", "objective": "masked", "vocab_size": 258}
    )
    with pytest.raises(ExperimentError, match=r"objective = 'masked'.*not the next one"):
        NextToken(experiment, initial_weights(experiment))
