"""Layers of each precision against loops, grids and the plain layer at the rounded values."""

import numpy as np
import pytest
import torch
from settled import settled
from torch import nn
from torch.nn import functional as F

from cputrain.engines.torch_ import linear, quantized
from cputrain.experiment import ExperimentError


def layer(precision, n_in=64, n_out=24, bias=True, seed=0):
    torch.manual_seed(seed)
    return linear.make(settled(precision=precision), n_in, n_out, bias)


def values(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("precision", ["fp32", "bf16", "mixed", "q8", "q4", "bitnet"])
def test_names_and_shapes(precision, bias):
    made = layer(precision, bias=bias)
    names = {name: tuple(p.shape) for name, p in made.named_parameters()}
    assert names == {"weight": (24, 64)} | ({"bias": (24,)} if bias else {})
    assert made(values(2, 3, 64)).shape == (2, 3, 24)
    assert made(values(0, 64)).shape == (0, 24)


def test_q8_is_the_rescaled_product_of_integers():
    made, x = layer("q8"), values(5, 64)
    x[2] = 0
    rows, weight = x.numpy().astype(float), made.weight.detach().numpy().astype(float)
    expected = np.zeros((5, 24))
    for i, row in enumerate(rows):
        step = np.abs(row).max() / 127 or 1.0
        codes = np.round(row / step).astype(int)
        for j, channel in enumerate(weight):
            unit = np.abs(channel).max() / 63
            expected[i, j] = (codes @ np.round(channel / unit).astype(int)) * step * unit
    expected += made.bias.detach().numpy()
    assert made(x).detach().numpy() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_int8_codes_use_the_whole_range_and_no_more():
    x = values(6, 40) * torch.tensor([[1e-30], [1e-6], [1.0], [1e6], [0.0], [1e30]])
    for levels in (63, 127):
        codes, scale = quantized.int8_codes(x, levels)
        assert codes.dtype == torch.int8
        assert codes.abs().amax(1).tolist() == [levels, levels, levels, levels, 0, levels]
        away = (codes * scale - x).abs()
        assert (away <= 0.501 * scale).all()


def test_q4_has_sixteen_levels_in_each_group_of_a_row():
    weight = values(8, 96)
    weight[3, 32:64] = 0
    rounded = quantized.group4(weight)
    for i in range(8):
        for start in range(0, 96, 32):
            group, levels = weight[i, start : start + 32], rounded[i, start : start + 32]
            extreme = group[group.abs().argmax()]
            grid = extreme / -8 * torch.arange(-8, 8)
            nearest = (group[:, None] - grid).abs().argmin(1)
            assert torch.allclose(levels, grid[nearest], rtol=1e-6, atol=0)
            assert levels[group.abs().argmax()] == extreme
    assert len(torch.unique(quantized.group4(torch.linspace(-1, 0.9, 32)[None]))) == 16


def test_bitnet_weights_are_ternary_and_activations_are_8_bit():
    weight, x = values(24, 64), values(7, 64)
    size = weight.abs().mean()
    rounded = quantized.ternary(weight)
    assert torch.equal(torch.unique(rounded), torch.stack([-size, 0 * size, size]))
    assert torch.equal(rounded == 0, weight.abs() <= size / 2)
    for row, rounded_row in zip(x, quantized.int8_values(x), strict=True):
        codes = rounded_row / (row.abs().max() / 127)
        assert torch.allclose(codes, codes.round(), atol=1e-4)
        assert codes.abs().max() == pytest.approx(127)
        assert len(torch.unique(rounded_row)) > 20


def rounded_like(precision, x, weight):
    """The values that a layer multiplies."""
    if precision == "q8":
        (a, a_step), (b, b_step) = quantized.int8_codes(x, 127), quantized.int8_codes(weight, 63)
        return a * a_step, b * b_step
    if precision == "q4":
        return x, quantized.group4(weight)
    return quantized.int8_values(x), quantized.ternary(weight)


@pytest.mark.parametrize("precision", ["q8", "q4", "bitnet"])
def test_gradients_are_the_plain_layers_at_the_rounded_values(precision):
    made, x, upstream = layer(precision), values(3, 5, 64).requires_grad_(), values(3, 5, 24)
    y = made(x)
    y.backward(upstream)
    flat, weight = rounded_like(precision, x.detach().view(-1, 64), made.weight.detach())
    plain = nn.Linear(64, 24)
    plain.weight.data, plain.bias.data = weight, made.bias.detach()
    twin = flat.view(3, 5, 64).requires_grad_()
    expected = plain(twin)
    expected.backward(upstream)
    assert torch.allclose(y, expected, rtol=1e-4, atol=1e-5)
    for actual, right in (
        (x.grad, twin.grad),
        (made.weight.grad, plain.weight.grad),
        (made.bias.grad, plain.bias.grad),
    ):
        assert torch.allclose(actual, right, rtol=1e-4, atol=1e-5)
    # The layer does round: the unrounded one gives something else.
    assert not torch.allclose(y, F.linear(x, made.weight, made.bias), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("precision", ["q8", "q4", "bitnet"])
def test_a_frozen_weight_gets_no_gradient_and_passes_one_on(precision):
    made, x = layer(precision), values(5, 64).requires_grad_()
    made.weight.requires_grad_(False)
    made(x).sum().backward()
    assert made.weight.grad is None
    assert x.grad.abs().sum() > 0


def test_groups_that_do_not_divide_are_refused():
    with pytest.raises(ExperimentError, match=r"precision = 'q4': .* 48 inputs .* 32"):
        layer("q4", n_in=48)


@pytest.mark.parametrize("shape", [(32, 24), (33, 65), (256, 1024), (1024, 256)])
def test_own_int8_products_are_exact_on_every_machine(shape):
    assert quantized.int_mm_is_exact(*shape, *quantized.LEVELS["q8"])
