"""The state space block and its scan against one step after the other, in double precision."""

import pytest

torch = pytest.importorskip("torch")

import block_checks  # noqa: E402
from made_model import make  # noqa: E402
from settled import SMALL  # noqa: E402

from cputrain.engines.torch_.ssm import Convolution, scan  # noqa: E402
from cputrain.experiment import ExperimentError  # noqa: E402

SSM = SMALL.but(architecture="ssm", n_embd=64)


def by_step(x, log_decay, b, c):
    """h = exp(log_decay) h + b x^T; y = c h, for each token, head and channel."""
    batch, length, heads, channels = x.shape
    h = torch.zeros(batch, heads, b.shape[2], channels, dtype=x.dtype)
    outputs = []
    for t in range(length):
        taken_in = b[:, t, None, :, None] * x[:, t, :, None, :]
        h = log_decay[:, t].exp()[:, :, None, None] * h + taken_in
        outputs.append((c[:, t, None, :, None] * h).sum(2))
    return torch.stack(outputs, dim=1)


def drawn(length, decay, dtype, batch=2, heads=3, channels=5, states=7):
    """x, log_decay, b, c; decays are `decay` times numbers from 0 to 1."""
    torch.manual_seed(length)
    given = [
        torch.randn(batch, length, heads, channels, dtype=torch.float64),
        -decay * torch.rand(batch, length, heads, dtype=torch.float64),
        torch.randn(batch, length, states, dtype=torch.float64),
        torch.randn(batch, length, states, dtype=torch.float64),
    ]
    return [part.to(dtype).requires_grad_() for part in given]


def both(given, exact, size):
    """Values and gradients of the scan, and of the loop."""
    results = []
    for arguments, function in ((given, lambda *a: scan(*a, size)), (exact, by_step)):
        y = function(*arguments)
        torch.manual_seed(1)
        weight = torch.randn(y.shape, dtype=torch.float64).to(y.dtype)
        results.append([y, *torch.autograd.grad((y * weight).sum(), arguments)])
    return zip(*results, strict=True)


@pytest.mark.parametrize(
    ("length", "size"), [(48, 16), (50, 16), (16, 16), (1, 1), (7, 16), (33, 8), (40, 1)]
)
def test_values_and_gradients_equal_the_steps(length, size):
    given = drawn(length, decay=0.5, dtype=torch.float64)
    for actual, expected in both(given, given, size):
        assert (actual - expected).abs().max() < 1e-10 * max(1, expected.abs().max())


@pytest.mark.parametrize("decay", [0.0, 1e-3, 1.0, 40.0, 1e4])
def test_float32_holds_for_every_decay(decay):
    """From states that never fade over 300 tokens to such as are gone at once."""
    given = drawn(300, decay, torch.float32)
    exact = [part.detach().double().requires_grad_() for part in given]
    for actual, expected in both(given, exact, 64):
        assert torch.isfinite(actual).all()
        assert (actual - expected).abs().max() < 2e-4 * max(1, expected.abs().max())


def test_the_convolution_equals_torchs():
    torch.manual_seed(0)
    conv, x = Convolution(5).double(), torch.randn(2, 9, 5, dtype=torch.float64)
    with torch.no_grad():
        conv.weight.normal_()
        conv.bias.normal_()
    padded = torch.nn.functional.pad(x.transpose(1, 2), (3, 0))
    expected = torch.nn.functional.conv1d(padded, conv.weight.unsqueeze(1), conv.bias, groups=5)
    assert (conv(x) - expected.transpose(1, 2)).abs().max() < 1e-12


def by_token(block, x):
    """The block's output, from its equations, one token after the other."""
    p = dict(block.named_parameters())
    batch, length, _ = x.shape
    heads, channels, states = len(p["a_log"]), len(p["ln_gate.weight"]), 64
    mean = x.mean(-1, keepdim=True)
    normed = (x - mean) / ((x - mean).square().mean(-1, keepdim=True) + 1e-5).sqrt()
    rows = (normed * p["ln_1.weight"] + p["ln_1.bias"]) @ p["fc.weight"].T
    z, mixed, steps = rows.split([channels, channels + 2 * states, heads], 2)
    h = torch.zeros(batch, heads, states, 64, dtype=x.dtype)
    outputs = []
    for t in range(length):
        seen = p["conv.bias"] + sum(
            mixed[:, t - k] * p["conv.weight"][:, 3 - k] for k in range(4) if t >= k
        )
        seen = seen / (1 + torch.exp(-seen))
        taken, b, c = seen.split([channels, states, states], 1)
        taken = taken.view(batch, heads, 64)
        dt = torch.log1p(torch.exp(steps[:, t] + p["dt_bias"]))
        decay = torch.exp(-torch.exp(p["a_log"]) * dt)
        given = b[:, None, :, None] * (dt[:, :, None] * taken)[:, :, None, :]
        h = decay[:, :, None, None] * h + given
        y = (c[:, None, :, None] * h).sum(2) + p["skip"][:, None] * taken
        y = y.flatten(1) * z[:, t] / (1 + torch.exp(-z[:, t]))
        y = y / (y.square().mean(-1, keepdim=True) + 1e-5).sqrt() * p["ln_gate.weight"]
        outputs.append(x[:, t] + y @ p["proj.weight"].T)
    return torch.stack(outputs, dim=1)


def test_the_block_equals_its_equations():
    block = make(SSM.but(seq_len=70), spread=0.1).double().h[0]
    torch.manual_seed(0)
    x = torch.randn(2, 70, 64, dtype=torch.float64, requires_grad=True)
    block_checks.equals(block, by_token, x)


def test_the_scan_stays_in_float32():
    """So autocast changes the layers around it and not the sums over the sequence."""
    block = make(SSM, spread=0.1).h[0]
    mixed = torch.randn(3, 24, block.channels + 128)
    dt = torch.randn(3, 24, block.heads)
    with torch.autocast("cpu", torch.bfloat16):
        actual = block._scanned(mixed, dt)
    exact = block.double()._scanned(mixed.double(), dt.double())
    assert actual.dtype == torch.float32
    assert (actual - exact).abs().max() < 1e-5 * exact.abs().max()


def test_names_and_shapes():
    block_checks.names_and_shapes(SSM)


def test_it_sees_nothing_later():
    block_checks.sees_nothing_later(SSM, at=9)
    block_checks.sees_nothing_later(SSM.but(seq_len=130, batch_size=1), at=64)


def test_it_learns_by_heart():
    block_checks.learns_by_heart(SSM)


def test_low_precision():
    block_checks.agrees_in_low_precision(SSM)


@pytest.mark.parametrize("precision", ["q8", "q4", "bitnet"])
def test_its_layers_take_every_precision(precision):
    block_checks.learns_by_heart(SSM.but(precision=precision))


def test_another_activation_is_refused():
    with pytest.raises(ExperimentError, match=r"activation = 'relu'.*'ssm'"):
        SSM.but(activation="relu")
