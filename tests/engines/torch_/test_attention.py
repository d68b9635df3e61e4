"""Every kind of attention against full attention with a mask, written out with repeated heads."""

import copy
import itertools
import math

import pytest
from settled import settled

torch = pytest.importorskip("torch")

from attention_reference import reference, sees  # noqa: E402

from cputrain.engines.torch_.attention import Attention  # noqa: E402

LENGTH, WINDOW, WIDTH = 24, 8, 32
BASE = settled(n_layer=1, n_embd=WIDTH, n_head=4, seq_len=LENGTH, batch_size=3)
KINDS = {
    "full": {},
    "bidirectional": {"architecture": "bert", "objective": "masked", "vocab_size": 258},
    "local": {"attention": "local", "window": WINDOW},
    "sliding": {"attention": "sliding", "window": WINDOW},
    "sliding over all": {"attention": "sliding", "window": LENGTH},
    "sliding by one": {"attention": "sliding", "window": 1},
    "local of all": {"attention": "local", "window": LENGTH},
}
HEADS = {
    "as many": {},
    "grouped": {"n_kv_head": 2},
    "one for all": {"n_kv_head": 1},
    "wide": {"head_dim": 12, "n_kv_head": 2},
}
BACKENDS = ("sdpa", "manual")


def make(dtype=None, **changes):
    """The experiment and its attention, with weights large enough for uneven attention."""
    experiment = BASE.but(**changes)
    with torch.device("meta"):
        module = Attention(experiment)
    generator = torch.Generator().manual_seed(1)
    weights = {
        name: torch.randn(p.shape, generator=generator) / math.sqrt(WIDTH)
        for name, p in module.named_parameters()
    }
    module.load_state_dict(weights, assign=True)
    return experiment, module if dtype is None else module.to(dtype)


def tokens(experiment, seed=0, dtype=None):
    generator = torch.Generator().manual_seed(seed)
    shape = (experiment.training.batch_size, experiment.training.seq_len, WIDTH)
    return torch.randn(shape, generator=generator).to(dtype or torch.float32)


def with_gradients(function, x, weights, seed=5):
    """The value, and the gradients of its weighted sum by x and every weight, by name."""
    value = function(x)
    wanted = {"x": x, **weights}
    upstream = torch.randn(value.shape, generator=torch.Generator().manual_seed(seed))
    gradients = torch.autograd.grad((value * upstream.to(value.dtype)).sum(), list(wanted.values()))
    return {"value": value.detach(), **dict(zip(wanted, gradients, strict=True))}


def check_against_reference(experiment, module, tolerance=1e-5):
    x = tokens(experiment).requires_grad_()
    got = with_gradients(module, x, dict(module.named_parameters()))
    exact = {n: p.detach().double().requires_grad_() for n, p in module.named_parameters()}
    twin = x.detach().double().requires_grad_()
    expected = with_gradients(lambda x: reference(experiment.model, exact, x), twin, exact)
    for name, value in expected.items():
        scale = max(1.0, value.abs().max().item())
        error = (got[name].double() - value).abs().max().item() / scale
        assert error < tolerance, f"{name}: {error:.1e}"


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_value_and_gradients(backend, kind, heads):
    check_against_reference(*make(attention_backend=backend, **KINDS[kind], **HEADS[heads]))


@pytest.mark.parametrize("kind", ["full", "local", "sliding"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("heads", ["as many", "wide"])
def test_rotary_positions_and_no_biases(backend, kind, heads):
    changes = {"architecture": "llama", **KINDS[kind], **HEADS[heads]}
    experiment, module = make(attention_backend=backend, **changes)
    assert [name for name, _ in module.named_parameters()] == ["qkv.weight", "proj.weight"]
    check_against_reference(experiment, module)


@pytest.mark.parametrize("window", [256, 512])
def test_windows_of_several_blocks_of_the_fused_kernel(window):
    """With 2 x 512 keys the first queries of a block see none of a whole block of keys."""
    changes = {"seq_len": 2 * window, "batch_size": 1, "n_head": 1, "head_dim": 8}
    check_against_reference(*make(attention="sliding", window=window, **changes))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_who_sees_whom(backend, kind):
    """Token by token: changing one changes exactly the outputs of those that see it."""
    experiment, module = make(attention_backend=backend, **KINDS[kind])
    x = tokens(experiment)
    before = module(x)
    for j in range(LENGTH):
        changed = x.clone()
        changed[:, j] += 1
        moved = (module(changed) - before).abs().amax(dim=(0, 2)) > 0
        assert moved.tolist() == [sees(experiment.model, i, j) for i in range(LENGTH)], j


def test_windows_are_not_all_alike():
    """The reference's masks differ as they should: else the tests above would show nothing."""
    values = []
    for kind in ("full", "bidirectional", "local", "sliding"):
        experiment, module = make(**KINDS[kind])
        values.append(module(tokens(experiment)))
    for a, b in itertools.combinations(values, 2):
        assert (a - b).abs().max() > 0.01


@pytest.mark.parametrize("backend", BACKENDS)
def test_grouped_heads_are_repeated_heads(backend):
    """Weights of keys and values repeated for a module without groups give the same."""
    _, grouped = make(attention_backend=backend, n_kv_head=2)
    experiment, plain = make(attention_backend=backend)
    d = experiment.model.d_head
    rows = list(range(WIDTH))  # the queries'
    for part, h in itertools.product(range(2), (0, 0, 1, 1)):
        start = WIDTH + part * 2 * d + h * d
        rows += range(start, start + d)
    weights = {n: p.detach().clone() for n, p in grouped.named_parameters()}
    for name in ("qkv.weight", "qkv.bias"):
        weights[name] = weights[name][rows]
    plain.load_state_dict(weights)
    x = tokens(experiment)
    assert (grouped(x) - plain(x)).abs().max() < 1e-6
    ours, theirs = torch.autograd.grad(
        [grouped(x).square().sum(), plain(x).square().sum()],
        [grouped.qkv.weight, plain.qkv.weight],
    )
    summed = torch.zeros_like(ours).index_add_(0, torch.tensor(rows), theirs)
    assert (ours - summed).abs().max() < 1e-4


@pytest.mark.parametrize("kind", ["full", "local", "sliding"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", ["weights", "autocast"])
def test_in_bf16(backend, kind, how):
    """Close to float32, in bf16 throughout: no float table or mask turns it back."""
    changes = {"architecture": "llama", "attention_backend": backend, **KINDS[kind]}
    experiment, module = make(**changes)
    exact = module(tokens(experiment))
    if how == "weights":
        low = copy.deepcopy(module).to(torch.bfloat16)
        x = tokens(experiment, dtype=torch.bfloat16).requires_grad_()
        y = low(x)
    else:
        low, x = module, tokens(experiment).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            y = low(x)
    assert y.dtype == torch.bfloat16
    assert 0 < (y.float() - exact).abs().max() < 0.05 * exact.abs().max()
    y.float().square().sum().backward()
    for gradient in (x.grad, low.qkv.weight.grad, low.proj.weight.grad):
        assert gradient.isfinite().all()
        assert gradient.abs().max() > 0


@pytest.mark.parametrize("kind", ["full", "bidirectional", "local", "sliding"])
def test_dropout_in_training_alone(kind):
    experiment, module = make(attention_backend="manual", dropout=0.2, **KINDS[kind])
    x = tokens(experiment)
    module.eval()
    assert torch.equal(module(x), module(x))
    check_against_reference(experiment, module)
    expected = module(x)
    module.train()
    torch.manual_seed(0)
    drawn = torch.stack([module(x) for _ in range(400)])
    assert not torch.equal(drawn[0], drawn[1])
    # Dropped weights are made up for: the mean over many draws is the value without dropout.
    spread = drawn.std(0) / math.sqrt(len(drawn))
    assert (drawn.mean(0) - expected).abs().max() < 6 * spread.max()


def test_nothing_but_the_weights_is_saved():
    for kind, backend in itertools.product(KINDS, BACKENDS):
        _, module = make(attention_backend=backend, **KINDS[kind])
        names = ["qkv.weight", "qkv.bias", "proj.weight", "proj.bias"]
        assert list(module.state_dict()) == names
        assert not any(b.is_meta or b.requires_grad for b in module.buffers())
