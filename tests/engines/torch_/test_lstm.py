"""The LSTM block: oneDNN's fused layer against the equations, one token after the other."""

import pytest

torch = pytest.importorskip("torch")

import block_checks  # noqa: E402
from made_model import batch, make  # noqa: E402
from settled import SMALL  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from cputrain.engines import specs  # noqa: E402
from cputrain.engines.torch_ import executed  # noqa: E402
from cputrain.engines.torch_.evidence import operators, profiled  # noqa: E402
from cputrain.engines.torch_.lstm import Lstm  # noqa: E402
from cputrain.experiment import ExperimentError  # noqa: E402

LSTM = SMALL.but(architecture="lstm")


def by_token(x, w, r, b):
    """h of every token, [B, T, cells]; with a sigmoid written out and gates cut by hand."""
    cells = r.shape[1]
    h = c = torch.zeros(x.shape[0], cells, dtype=x.dtype)
    states = []
    for t in range(x.shape[1]):
        rows = x[:, t] @ w.T + h @ r.T + b
        open_to_input, keeps, values, shows = (
            rows[:, k * cells : (k + 1) * cells] for k in range(4)
        )
        c = c / (1 + torch.exp(-keeps)) + torch.tanh(values) / (1 + torch.exp(-open_to_input))
        h = torch.tanh(c) / (1 + torch.exp(-shows))
        states.append(h)
    return torch.stack(states, dim=1)


@pytest.mark.parametrize(("batch_size", "length"), [(3, 40), (1, 7), (2, 1)])
def test_the_layer_equals_a_loop_in_double_precision(batch_size, length):
    torch.manual_seed(0)
    layer = Lstm(10, 6)
    given = [torch.randn(batch_size, length, 10), torch.randn(24, 10), torch.randn(24, 6)]
    given.append(torch.randn(24))
    x = given[0].clone().requires_grad_()
    with torch.no_grad():
        for p, value in zip((layer.input.weight, layer.recurrent.weight), given[1:3], strict=True):
            p.copy_(value)
        layer.bias.copy_(given[3])
    exact = [value.double().requires_grad_() for value in given]
    actual, expected = layer(x), by_token(*exact)
    assert (actual - expected).abs().max() < 1e-5
    weight = torch.randn_like(actual)
    (actual * weight).sum().backward()
    (expected * weight).sum().backward()
    mine = (x, layer.input.weight, layer.recurrent.weight, layer.bias)
    for own, other in zip(mine, exact, strict=True):
        assert (own.grad - other.grad).abs().max() <= 1e-5 * max(1, other.grad.abs().max())


def test_the_block_adds_what_the_layer_gives():
    block = make(LSTM, spread=0.1).h[0]
    x = torch.randn(3, 24, 32)
    normed = (x - x.mean(2, keepdim=True)) / (x.var(2, correction=0, keepdim=True) + 1e-5).sqrt()
    normed = normed * block.ln_1.weight + block.ln_1.bias
    h = by_token(normed, block.lstm.input.weight, block.lstm.recurrent.weight, block.lstm.bias)
    expected = x + h @ block.proj.weight.T + block.proj.bias
    assert (block(x) - expected).abs().max() < 1e-5


def test_the_fused_layer_runs_and_nothing_else():
    made, parts = make(LSTM), batch(LSTM)
    with profiled() as profile:
        made(*parts).backward()
    (check,) = executed.attention(LSTM, operators(profile))
    assert check.ok and check.actual == 2 * 2  # two layers, forward and backward
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.sigmoid: count}) as counter:
        made(*parts)
    assert torch.ops.aten.sigmoid not in counter.get_flop_counts()["Global"]


def count(*_, **__):
    return 1


def test_what_the_fused_layer_cannot_do_is_an_error_and_not_a_slow_loop():
    with pytest.raises(RuntimeError, match="data type"):
        make(LSTM).double().h[0](torch.randn(3, 24, 32, dtype=torch.float64))


def test_names_and_shapes():
    block_checks.names_and_shapes(LSTM)


def test_it_sees_nothing_later():
    block_checks.sees_nothing_later(LSTM, at=9)


def test_it_learns_by_heart():
    block_checks.learns_by_heart(LSTM)


def test_low_precision():
    if (reason := specs.of("torch").why_not(LSTM.but(precision="bf16"))) is not None:
        pytest.skip(reason)
    block_checks.agrees_in_low_precision(LSTM)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"compile": "aot_eager"}, ["compile = 'aot_eager'", "lstm"]),
        ({"precision": "q8"}, ["precision = 'q8'", "lstm"]),
        ({"activation": "relu"}, ["activation = 'relu'", "lstm"]),
    ],
)
def test_what_it_cannot_take_is_refused(changes, named):
    with pytest.raises(ExperimentError) as caught:
        LSTM.but(**changes)
    assert all(word in str(caught.value) for word in named)
