"""Blocks: the registry, and pre-norm and post-norm against plain loops in NumPy."""

import math
import sys

import numpy as np
import pytest
from made_model import BERT, make
from settled import SMALL

from cputrain.engines.torch_ import model
from cputrain.experiment.parts import ARCHITECTURES
from cputrain.model import shapes

torch = pytest.importorskip("torch")


def test_every_architecture_has_a_block():
    assert tuple(model.BLOCKS) == ARCHITECTURES


def test_only_the_block_that_is_asked_for_is_imported(monkeypatch):
    for name in {"transformer", "lstm", "gmlp", "ssm", "moe"}:
        monkeypatch.delitem(sys.modules, f"cputrain.engines.torch_.{name}", raising=False)
    model.make_block(SMALL)
    assert "cputrain.engines.torch_.transformer" in sys.modules
    assert "cputrain.engines.torch_.ssm" not in sys.modules


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shapes_of_a_block(architecture):
    experiment = SMALL.but(**(BERT if architecture == "bert" else {"architecture": architecture}))
    block = model.make_block(experiment)
    weight_shapes = {name: tuple(p.shape) for name, p in block.named_parameters()}
    assert weight_shapes == shapes.BLOCKS[architecture](experiment)
    assert block(torch.randn(3, 24, 32)).shape == (3, 24, 32)


def norm(x, w, name):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def linear(x, w, name):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def attention(x, w, causal):
    """Two heads of 16, query by query."""
    qkv, mixed = linear(x, w, "attn.qkv"), np.zeros_like(x)
    for b, head in np.ndindex(len(x), 2):
        q, k, v = (qkv[b, :, i * 32 + head * 16 :][:, :16] for i in range(3))
        for t in range(x.shape[1]):
            seen = slice(0, t + 1 if causal else None)
            e = np.exp(k[seen] @ q[t] / 4)
            mixed[b, t, head * 16 : head * 16 + 16] = e / e.sum() @ v[seen]
    return linear(mixed, w, "attn.proj")


def mlp(x, w):
    hidden = linear(x, w, "mlp.fc")
    hidden = hidden * 0.5 * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
    return linear(hidden, w, "mlp.proj")


@pytest.mark.parametrize("post", [False, True])
@pytest.mark.parametrize("attention_backend", ["sdpa", "manual"])
def test_order_of_norms_and_residuals(post, attention_backend):
    experiment = SMALL.but(**(BERT if post else {}), attention_backend=attention_backend)
    block = make(experiment, spread=0.2).h[0]
    w = {name: p.detach().double().numpy() for name, p in block.named_parameters()}
    x = np.random.default_rng(1).standard_normal((2, 24, 32))
    if post:
        y = norm(x + attention(x, w, causal=False), w, "ln_1")
        y = norm(y + mlp(y, w), w, "ln_2")
    else:
        y = x + attention(norm(x, w, "ln_1"), w, causal=True)
        y = y + mlp(norm(y, w, "ln_2"), w)
    actual = block(torch.from_numpy(x).float()).detach().numpy()
    assert np.abs(actual - y).max() < 1e-4 * np.abs(y).max()
