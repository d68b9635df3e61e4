"""The gMLP block against its equations, position by position."""

import pytest

torch = pytest.importorskip("torch")

import block_checks  # noqa: E402
from made_model import make  # noqa: E402
from settled import SMALL  # noqa: E402

from cputrain.experiment import ExperimentError  # noqa: E402

GMLP = SMALL.but(architecture="gmlp")


def norm(x, layer):
    x = x - x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * layer.weight + layer.bias


def gelu(x):
    return x * (1 + torch.erf(x / 2**0.5)) / 2


def by_position(block, x):
    """The block's output [B, T, C]: each position's gate is a sum over those not after it."""
    hidden = gelu(norm(x, block.ln_1) @ block.fc.weight.T + block.fc.bias)
    half = hidden.shape[2] // 2
    u, v = hidden[..., :half], norm(hidden[..., half:], block.ln_gate)
    outputs = []
    for t in range(x.shape[1]):
        gate = block.spatial.bias[t]
        for s in range(t + 1):
            gate = gate + block.spatial.weight[t, s] * v[:, s]
        outputs.append(x[:, t] + (u[:, t] * gate) @ block.proj.weight.T + block.proj.bias)
    return torch.stack(outputs, dim=1)


def test_values_and_gradients_equal_a_loop():
    block = make(GMLP, spread=0.2).double().h[0]
    x = torch.randn(3, 24, 32, dtype=torch.float64, requires_grad=True)
    block_checks.equals(block, by_position, x)


def test_later_positions_weights_get_no_gradient():
    block = make(GMLP, spread=0.2).h[0]
    block(torch.randn(3, 24, 32)).square().sum().backward()
    gradient = block.spatial.weight.grad
    assert not gradient.triu(1).any()
    assert gradient.tril().any()


def test_its_gates_are_open_at_first():
    block = make(GMLP).h[0]
    assert (block.spatial(torch.randn(3, 24, 5)) - 1).abs().max() < 0.05


def test_names_and_shapes():
    block_checks.names_and_shapes(GMLP)


def test_it_sees_nothing_later():
    block_checks.sees_nothing_later(GMLP, at=9)


def test_it_learns_by_heart():
    block_checks.learns_by_heart(GMLP)


def test_low_precision():
    block_checks.agrees_in_low_precision(GMLP)


@pytest.mark.parametrize("precision", ["q8", "q4", "bitnet"])
def test_its_layers_take_every_precision(precision):
    block_checks.learns_by_heart(GMLP.but(precision=precision))


def test_a_gated_activation_is_refused():
    with pytest.raises(ExperimentError, match=r"activation = 'swiglu'.*'gmlp'"):
        GMLP.but(activation="swiglu")
