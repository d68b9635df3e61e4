"""Rotary positions against multiplication of complex numbers."""

import cmath

import pytest

torch = pytest.importorskip("torch")

from cputrain.engines.torch_.layers import Rotary  # noqa: E402


def test_pairs_turn_as_complex_numbers_do():
    length, width = 2048, 8
    x = torch.randn(1, length, 2, width, generator=torch.Generator().manual_seed(0))
    y = Rotary(length, width)(x)
    for t in (0, 1, 7, 1000, 2047):
        for head in range(2):
            for i in range(width // 2):
                pair = complex(x[0, t, head, i].item(), x[0, t, head, i + width // 2].item())
                turned = pair * cmath.exp(1j * t * 10_000 ** (-2 * i / width))
                assert y[0, t, head, i].item() == pytest.approx(turned.real, abs=1e-6)
                assert y[0, t, head, i + width // 2].item() == pytest.approx(turned.imag, abs=1e-6)


def test_scores_depend_on_the_distance_alone():
    rotary = Rotary(64, 16)
    q, k = torch.randn(2, 16, generator=torch.Generator().manual_seed(0)).unsqueeze(1)
    everywhere = (rotary(vector.expand(1, 64, 1, 16))[0, :, 0] for vector in (q, k))
    turned_q, turned_k = everywhere
    scores = turned_q @ turned_k.T
    for distance in (0, 3, 20):
        diagonal = scores.diagonal(-distance)
        assert diagonal.max() - diagonal.min() < 1e-5
    assert scores.diagonal(0)[0] - scores.diagonal(-3)[0] != pytest.approx(0, abs=0.1)


def test_tables_keep_to_the_type_of_what_they_turn():
    rotary, x = Rotary(4, 8), torch.ones(1, 4, 1, 8)
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        assert rotary(x.to(dtype)).dtype == dtype
        assert rotary.to(torch.bfloat16)(x.to(dtype)).dtype == dtype
    assert not rotary.state_dict()
    with torch.device("meta"):
        assert not Rotary(5, 8).cos.is_meta
