"""Which (query, key) pairs torch's fused attention kernel really computes, found with NaNs."""

import math

import pytest

torch = pytest.importorskip("torch")

FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
FLASH_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def executed(length, queries):
    """(query, key) pairs that the causal kernel computes, from the docstring of attention.py."""
    size = 32 if length < 192 else 64 if length < 768 else 256
    ends = [min((q // size + 1) * size, length) for q in queries]
    return [min(length, 512 * math.ceil(end / 512)) for end in ends]


@pytest.mark.parametrize("length", [100, 600, 768, 1100, 1536])
def test_pairs_that_the_causal_kernel_skips(length):
    """A NaN among the values spreads to every query that meets it, even with weight 0."""
    torch.manual_seed(0)
    q, k, v, upstream = torch.randn(4, 1, 1, length, 8)
    y, normalizer = FLASH(q, k, v, 0.0, True)
    met = torch.zeros(2, length, dtype=torch.int64)
    for start in range(0, length, 50):  # 50 keys are marked one after the other, by their first
        marked = v.clone()
        marked[..., start, :] = torch.nan
        forward = FLASH(q, k, marked, 0.0, True)[0]
        backward = FLASH_BACKWARD(upstream, q, k, marked, y, normalizer, 0.0, True)[0]
        for i, results in enumerate((forward, backward)):
            met[i] += results.isnan().any(-1)[0, 0]
    expected = [math.ceil(keys / 50) for keys in executed(length, range(length))]
    assert met.tolist() == [expected, expected]


def test_nothing_is_skipped_with_a_mask():
    torch.manual_seed(0)
    q, k, v, upstream = torch.randn(4, 1, 1, 1024, 8)
    mask = torch.zeros(1024, 1024).masked_fill(torch.ones(1024, 1024).triu(1) > 0, -math.inf)
    y, normalizer = FLASH(q, k, v, 0.0, False, attn_mask=mask)
    v[..., 1023, :] = torch.nan
    assert FLASH(q, k, v, 0.0, False, attn_mask=mask)[0].isnan().all()
    arguments = (upstream, q, k, v, y, normalizer, 0.0, False)
    assert FLASH_BACKWARD(*arguments, attn_mask=mask)[0].isnan().all()
