"""Masking as in BERT: 15 % selected; of these 80 % masked, 10 % replaced, 10 % kept."""

import numpy as np
import pytest

from cputrain.data.batches import END, IGNORE
from cputrain.data.masked import Hiding, Masked, generator

MASK, VOCAB = 999, 900


@pytest.fixture(scope="module")
def many():
    """2 000 sequences of 128 tokens: originals, and the batch of them."""
    windows = np.random.default_rng(5).integers(300, 900, size=(2000, 129))
    examples = Masked(128, VOCAB, MASK, END, seed=0)
    return windows[:, :128], examples.batch([*windows], range(2000))


def test_fifteen_percent_of_the_tokens_are_selected(many):
    original, batch = many
    selected = batch.targets != IGNORE
    assert (selected.sum(axis=1) == round(0.15 * 128)).all()
    assert (batch.targets[selected] == original[selected]).all()
    assert (batch.inputs[~selected] == original[~selected]).all()


def test_eighty_ten_ten(many):
    original, batch = many
    selected = batch.targets != IGNORE
    count = selected.sum()  # 38 000: one standard deviation is 0.002
    masked = (batch.inputs == MASK)[selected].sum() / count
    kept = (batch.inputs == original)[selected].sum() / count
    assert masked == pytest.approx(0.8, abs=0.01)
    assert kept == pytest.approx(0.1, abs=0.01)
    assert 1 - masked - kept == pytest.approx(0.1, abs=0.01)


def test_every_place_is_selected_as_often_and_every_token_replaces(many):
    original, batch = many
    share = (batch.targets != IGNORE).mean(axis=0)
    assert share.min() > 0.1 and share.max() < 0.2
    random = batch.inputs[(batch.inputs != original) & (batch.inputs != MASK)]
    assert random.min() < 20 and 880 < random.max() < VOCAB


def test_the_same_seed_and_place_hide_the_same(many):
    windows = [np.arange(129)] * 3
    first = Masked(128, VOCAB, MASK, END, seed=0).batch(windows, [0, 1, 1])
    again = Masked(128, VOCAB, MASK, END, seed=0).batch(windows[:1], [1])
    other = Masked(128, VOCAB, MASK, END, seed=1).batch(windows[:1], [1])
    assert (first.inputs[1] == first.inputs[2]).all()
    assert (first.inputs[1] == again.inputs[0]).all()
    assert (first.inputs[0] != first.inputs[1]).any()
    assert (first.inputs[1] != other.inputs[0]).any()


def test_ends_and_filling_are_never_selected():
    window = np.array([1, END, 2, END, 3])
    for place in range(200):
        batch = Masked(8, VOCAB, MASK, END, seed=0).batch([window], [place])
        assert (batch.targets[0] != IGNORE).sum() == 1
        assert (batch.targets[0, [1, 3, 5, 6, 7]] == IGNORE).all()
        assert (batch.inputs[0, [1, 3, 5, 6, 7]] == END).all()


def test_a_sequence_of_ends_has_a_target_all_the_same():
    _, targets = Hiding(VOCAB, MASK, END).hide(generator(0, 0), np.array([END, END]))
    assert (targets == END).sum() == 1
