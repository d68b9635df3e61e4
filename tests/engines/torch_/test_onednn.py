"""oneDNN's linear layer against torch's own, and that its products really are oneDNN's."""

import numpy as np
import pytest
import torch
from made_engine import build, make_batch
from msgspec import structs
from settled import SMALL
from torch.nn import functional as F

from cputrain.engines import EngineError, executed, multiplied
from cputrain.engines.torch_ import by_library, linear, onednn
from cputrain.knobs import inforce
from cputrain.model import initial

pytestmark = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN"
)
x86 = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this torch has no MKL")
ONEDNN = SMALL.but(matmul_backend="onednn")


def values(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("shape", "n_in", "n_out"),
    [((2, 24), 32, 96), ((7,), 5, 3), ((1, 1), 64, 1), ((3,), 1, 1), ((2, 77), 300, 257)],
)
def test_layer_and_gradients_are_torchs(shape, n_in, n_out, bias):
    layer = linear.make(ONEDNN, n_in, n_out, bias)
    assert isinstance(layer, onednn.OneDnnLinear)
    x, gradient = values(*shape, n_in).requires_grad_(), values(*shape, n_out)
    y, expected = layer(x), F.linear(x, layer.weight, layer.bias)
    assert y.shape == expected.shape and y.stride() == expected.stride()
    torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
    by = (x, *layer.parameters())
    actual, true_gradients = (torch.autograd.grad(z, by, gradient) for z in (y, expected))
    for gradient_of_z, true_gradient in zip(actual, true_gradients, strict=True):
        assert gradient_of_z.is_contiguous()
        assert (gradient_of_z - true_gradient).abs().max() <= 1e-5 * true_gradient.abs().max()


def test_rows_need_not_be_contiguous():
    layer, x = linear.make(ONEDNN, 6, 4, True), values(6, 5).t()
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias))


def test_no_rows_give_none_and_no_gradient():
    """An expert that no token chose."""
    layer = linear.make(ONEDNN, 6, 4, True)
    y = layer(torch.zeros(0, 6))
    assert y.shape == (0, 4)
    y.sum().backward()
    assert not layer.weight.grad.any() and not layer.bias.grad.any()


def test_what_is_frozen_is_left_out():
    layer, x = linear.make(ONEDNN, 6, 4, True), values(5, 6)
    layer.weight.requires_grad_(False)
    layer(x).sum().backward()
    assert layer.weight.grad is None and layer.bias.grad.tolist() == [5.0] * 4


def test_a_torch_without_the_operator_is_one_line(monkeypatch):
    monkeypatch.setattr(onednn, "OPERATOR", "_gone")
    with pytest.raises(EngineError, match=r"torch .* has no mkldnn::_gone"):
        linear.make(ONEDNN, 6, 4, True)


KINDS = {
    "gpt": {},
    "manual": {"attention_backend": "manual"},
    "llama": {"architecture": "llama", "activation": "swiglu"},
    "bert": {"architecture": "bert", "vocab_size": 300, "objective": "masked"},
    "gmlp": {"architecture": "gmlp"},
    "ssm": {"architecture": "ssm"},
    "moe": {"architecture": "moe"},
    "untied, in chunks": {"tied": False, "loss_chunk": 16},
    "checkpointed": {"activation_checkpointing": True},
    "dropped, checkpointed": {
        "activation_checkpointing": True,
        "dropout": 0.1,
        "attention_backend": "manual",
    },
    "forward": {"objective": "forward"},
    "full": {"fine_tuning": "full"},
    "lora": {"fine_tuning": "lora"},
    "head": {"fine_tuning": "head", "tied": False},
    "one token": {"seq_len": 1, "batch_size": 1},
    "captured": {"compile": "aot_eager"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_products_there(kind):
    """Gradients as torch's own; of the step as many products as are reckoned, or more by MKL."""
    torch._dynamo.reset()
    experiment = SMALL.but(**KINDS[kind])
    weights, batch = initial.initial_weights(experiment), make_batch(experiment)
    with_onednn = experiment.but(matmul_backend="onednn")
    engine = build(with_onednn, weights)
    gradients = engine.gradients(batch)
    if with_onednn.runtime.compile != "eager":
        engine.train_step(batch)
    evidence = engine.evidence(batch)
    inforce.require(executed.checks(with_onednn, evidence))
    if "experts" not in str(multiplied.linear_layers(with_onednn)):
        assert evidence.products_by_library["onednn"] == multiplied.of_layers(with_onednn)
    right = build(experiment.but(compile="eager"), weights).gradients(batch)
    for name, gradient in right.items():
        largest = max(np.abs(gradient).max(), 1e-8)
        assert np.abs(gradients[name] - gradient).max() <= 1e-5 * largest, name


@x86
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "captured"])
def test_mkl_is_what_torch_takes_by_itself(kind):
    experiment = SMALL.but(**KINDS[kind], matmul_backend="mkl")
    evidence = build(experiment).evidence(make_batch(experiment))
    inforce.require(executed.checks(experiment, evidence))
    assert "onednn" not in evidence.products_by_library


def require_of(experiment, engine):
    inforce.require(executed.checks(experiment, engine.evidence(make_batch(experiment))))


@x86
def test_a_plain_layer_is_found(monkeypatch):
    monkeypatch.setattr(onednn.OneDnnLinear, "forward", torch.nn.Linear.forward)
    with pytest.raises(inforce.NotInForce, match=r"linear layers by library.*found {'mkl': 24}"):
        require_of(ONEDNN, build(ONEDNN))


@x86
def test_one_plain_layer_among_the_others_is_found():
    engine = build(ONEDNN)
    engine._model.h[1].mlp.fc.__class__ = torch.nn.Linear
    with pytest.raises(inforce.NotInForce, match=r"linear layers by library"):
        require_of(ONEDNN, engine)


def test_a_step_that_leaves_the_layers_out_is_found():
    """By themselves they would be right."""
    with pytest.raises(inforce.NotInForce, match=r"products of a step by onednn.*found 0"):
        evidence = build(ONEDNN).evidence(make_batch(ONEDNN))
        inforce.require(
            executed.checks(ONEDNN, structs.replace(evidence, products_by_library={"mkl": 99}))
        )


@x86
def test_onednn_where_mkl_was_asked_for_is_found():
    experiment = SMALL.but(matmul_backend="mkl")
    with pytest.raises(inforce.NotInForce, match=r"linear layers by library.*'mkl': 24.*onednn"):
        require_of(experiment, build(ONEDNN, initial.initial_weights(experiment)))
    inforce.require(multiplied.of_torch(experiment, {"mkl": 40}, {"mkl": 24}))
    with pytest.raises(inforce.NotInForce, match=r"products of a step by onednn: asked for 0"):
        inforce.require(multiplied.of_torch(experiment, {"mkl": 40, "onednn": 1}, {"mkl": 24}))


def test_looking_changes_nothing_and_leaves_nothing_printing(capfd):
    looked_at, other = build(ONEDNN), build(ONEDNN)
    batch = make_batch(ONEDNN)
    for _ in range(2):
        looked_at.evidence(batch)
        assert looked_at.train_step(batch) == other.train_step(batch)
    assert "verbose" not in capfd.readouterr().out.lower()


@x86
def test_by_default_nothing_is_looked_at():
    evidence = build(SMALL).evidence(make_batch(SMALL))
    assert evidence.products_by_library is None and evidence.layer_products_by_library is None
    blas = build(SMALL).readings()["blas"]
    assert blas == {"name": "mkl", "threads": torch.get_num_threads()}


@x86
def test_products_are_counted_while_watched():
    a = values(8, 8)
    with by_library.watched() as counted:
        a @ a
        onednn._product(a, a)
        onednn._product(a, a)
    assert counted == {"mkl": 1, "onednn": 2}
