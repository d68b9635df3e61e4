"""Blocks of tokens, and their masks, against loops."""

import pytest

torch = pytest.importorskip("torch")

from cputrain.engines.torch_ import attention  # noqa: E402


def numbered(batch, length, heads=2, width=3):
    return torch.arange(batch * length * heads * width).view(batch, length, heads, width)


def test_fold_keeps_blocks_together():
    x = numbered(2, 12)
    folded = attention.fold(x, 4)
    assert folded.shape == (6, 4, 2, 3)
    for sequence in range(2):
        for block in range(3):
            part = x[sequence, 4 * block : 4 * block + 4]
            assert torch.equal(folded[3 * sequence + block], part)


def test_with_previous_never_crosses_sequences():
    x = numbered(2, 12)
    pairs = attention.with_previous(x, 4)
    assert pairs.shape == (4, 8, 2, 3)
    for sequence in range(2):
        for block in (1, 2):
            part = x[sequence, 4 * block - 4 : 4 * block + 4]
            assert torch.equal(pairs[2 * sequence + block - 1], part)


def test_local_blocks_are_not_copied():
    """Of a part of the joined queries, keys and values too: folding is a view."""
    joined = torch.zeros(2, 12, 5, 3)
    assert attention.fold(joined[:, :, 1:3], 4).data_ptr() == joined[:, :, 1:3].data_ptr()


@pytest.mark.parametrize("window", [1, 2, 5])
def test_masks(window):
    for i in range(window):
        assert attention.later_keys(window)[i].tolist() == [j > i for j in range(window)]
        seen = range(i + 1, window + i + 1)
        outside = [j not in seen for j in range(2 * window)]
        assert attention.outside_keys(window)[i].tolist() == outside
        added = [-torch.inf if out else 0.0 for out in outside]
        assert attention.outside_scores(window)[i].tolist() == added


def test_masks_are_real_where_modules_are_not():
    with torch.device("meta"):
        assert not attention.later_keys(3).is_meta
        assert not attention.outside_keys(3).is_meta
        assert not attention.outside_scores(3).is_meta
