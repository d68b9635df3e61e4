"""Which kernel attention runs, on how many (query, key) pairs, and that it compiles whole."""

import math

import pytest
from settled import settled

torch = pytest.importorskip("torch")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from cputrain.engines.torch_ import executed  # noqa: E402
from cputrain.engines.torch_.attention import Attention  # noqa: E402
from cputrain.engines.torch_.evidence import operators, profiled  # noqa: E402

LENGTH, WINDOW, WIDTH, D_HEAD, BATCH = 64, 16, 32, 8, 2
BASE = settled(n_layer=1, n_embd=WIDTH, n_head=4, seq_len=LENGTH, batch_size=BATCH)
BERT = {"architecture": "bert", "objective": "masked", "vocab_size": 258}
KINDS = {
    "full": {},
    "bidirectional": BERT,
    "grouped": {"n_kv_head": 2},
    "llama": {"architecture": "llama", "n_kv_head": 1},
    "local": {"attention": "local", "window": WINDOW},
    "sliding": {"attention": "sliding", "window": WINDOW},
    "sliding, grouped": {"attention": "sliding", "window": WINDOW, "n_kv_head": 2},
}
FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
FLASH_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
SOFTMAX = torch.ops.aten._softmax


def make(**changes):
    experiment = BASE.but(**changes)
    torch.manual_seed(0)
    module = Attention(experiment)
    x = torch.randn(experiment.training.batch_size, experiment.training.seq_len, WIDTH)
    return module, x.requires_grad_()


def pairs(kind, length=LENGTH, window=WINDOW):
    """Of one sequence and head, as attention.py's table says; up to 512 tokens."""
    if "local" in kind:
        return length * window
    if "sliding" in kind:
        return window**2 + (length - window) * 2 * window
    return length**2


def fused_kernels(step):
    """How many fused kernels the product's evidence of `step` has."""
    with profiled() as profile:
        step()
    (check,) = executed.attention(BASE, operators(profile))
    return check.actual


def operations(step):
    """How often each operation of attention ran, by torch's own dispatch."""
    counting = dict.fromkeys(
        (FLASH, FLASH_BACKWARD, SOFTMAX, torch.ops.aten.bmm), lambda *_, **__: 1
    )
    with FlopCounterMode(display=False, custom_mapping=counting) as counter:
        step()
    return counter.get_flop_counts()["Global"]


def compile_whole(module):
    torch._dynamo.reset()
    return torch.compile(module, fullgraph=True, backend="aot_eager", dynamic=False)


@pytest.mark.parametrize("low", [None, "weights", "autocast"])
@pytest.mark.parametrize("kind", KINDS)
def test_sdpa_runs_the_fused_kernel_alone(kind, low):
    module, x = make(**KINDS[kind])
    if low == "weights":
        module, x = module.to(torch.bfloat16), x.detach().bfloat16()

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=low == "autocast"):
            y = module(x)
        y.sum().backward()

    calls = 2 if "sliding" in kind else 1
    ran = operations(step)
    assert ran[FLASH] == ran[FLASH_BACKWARD] == calls
    assert SOFTMAX not in ran and torch.ops.aten.bmm not in ran
    assert fused_kernels(step) == calls


@pytest.mark.parametrize("kind", KINDS)
def test_manual_runs_no_fused_kernel(kind):
    module, x = make(attention_backend="manual", **KINDS[kind])
    ran = operations(lambda: module(x).sum().backward())
    assert FLASH not in ran and FLASH_BACKWARD not in ran
    assert ran[SOFTMAX] == (2 if "sliding" in kind else 1)
    assert fused_kernels(lambda: module(x).sum().backward()) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_manual_work(kind):
    """2 products of 2 d_head operations forward and 4 backward, in every query head."""
    module, x = make(attention_backend="manual", **KINDS[kind])
    product = 2 * D_HEAD * pairs(kind) * 4 * BATCH
    with FlopCounterMode(display=False) as counter:
        y = module(x)
        forward = counter.get_flop_counts()["Global"][torch.ops.aten.bmm]
        y.sum().backward()
    assert forward == 2 * product
    assert counter.get_flop_counts()["Global"][torch.ops.aten.bmm] == 6 * product


@pytest.mark.parametrize("kind", KINDS)
def test_fused_work(kind):
    """What the kernel is given, by shapes: 2 products forward, 5 backward."""

    def forward(q, k, v, *args, **kwargs):
        heads.add((q[1], k[1], v[1]))
        return 2 * 2 * math.prod(q[:3]) * k[2] * q[3]

    def backward(grad, q, k, v, *args, **kwargs):
        return 5 * 2 * math.prod(q[:3]) * k[2] * q[3]

    heads = set()
    module, x = make(**KINDS[kind])
    mapping = {FLASH: forward, FLASH_BACKWARD: backward}
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        module(x).sum().backward()
    product = 2 * D_HEAD * pairs(kind) * 4 * BATCH
    counts = counter.get_flop_counts()["Global"]
    assert counts[FLASH] == 2 * product
    assert counts[FLASH_BACKWARD] == 5 * product
    kept = KINDS[kind].get("n_kv_head", 4)
    assert heads == {(4, kept, kept)}, "keys and values were repeated for every query head"


@pytest.mark.parametrize("backend", ["sdpa", "manual"])
def test_work_falls_with_the_window(backend):
    """Never more than full attention's, and in proportion to the window."""
    mapping = {FLASH: lambda q, k, *args, **kwargs: 4 * math.prod(q[:3]) * k[2] * q[3]}

    def work(**changes):
        module, x = make(attention_backend=backend, **changes)
        with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
            module(x)
        flops = counter.get_flop_counts()["Global"]
        return flops.get(FLASH, 0) + flops.get(torch.ops.aten.bmm, 0)

    full = work()
    for kind in ("local", "sliding"):
        shares = {w: work(attention=kind, window=w) / full for w in (8, 16, 32, 64)}
        assert shares[64] == 1
        for w in (8, 16, 32):
            expected = w / 64 if kind == "local" else 2 * w / 64 - (w / 64) ** 2
            assert shares[w] == pytest.approx(expected)


@pytest.mark.parametrize("backend", ["sdpa", "manual"])
@pytest.mark.parametrize("kind", KINDS)
def test_compiles_to_one_graph(kind, backend):
    module, x = make(attention_backend=backend, **KINDS[kind])
    compiled = compile_whole(module)
    y, expected = compiled(x), module(x)
    assert (y - expected).abs().max() < 1e-6
    assert (fused_kernels(lambda: compiled(x).sum().backward()) > 0) == (backend == "sdpa")
    ours = x.grad.clone()
    x.grad = None
    expected.sum().backward()
    assert (ours - x.grad).abs().max() < 1e-5


def test_dropout_compiles_to_one_graph():
    module, x = make(attention_backend="manual", dropout=0.5)
    compiled = compile_whole(module)
    torch.manual_seed(3)
    y = compiled(x)
    torch.manual_seed(3)
    assert (y - module(x)).abs().max() < 1e-6
    assert (compiled(x) - y).abs().max() > 0.01
