"""Batches: the next token is the target, and the order depends on the seed alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cputrain.data.batches import END, IGNORE, Causal, Epochs
from cputrain.data.windows import PackedWindows

SIZES = st.tuples(st.integers(2, 200), st.integers(1, 33), st.integers(1, 9))


def packed(stream, seq_len, batch_size, seed=0) -> Epochs:
    return Epochs(PackedWindows(np.asarray(stream), seq_len), Causal(seq_len), batch_size, seed)


def first_epoch(batches: Epochs) -> list[tuple[np.ndarray, np.ndarray]]:
    """The sequences of the first epoch, in stream order; batch_size must be 1."""
    got = [batches.batch(step) for step in range(len(batches))]
    return sorted(((b.inputs[0], b.targets[0]) for b in got), key=lambda pair: pair[0][0])


@given(SIZES)
def test_a_target_is_the_next_token_and_each_is_predicted_once_an_epoch(sizes):
    length, seq_len, _ = sizes
    stream = np.arange(1000, 1000 + length)
    pairs = first_epoch(packed(stream, seq_len, 1, seed=3))
    inputs = np.concatenate([pair[0] for pair in pairs if pair[0][0] != END])
    targets = np.concatenate([pair[1] for pair in pairs])
    counted = targets != IGNORE
    assert (targets[counted] == inputs[counted] + 1).all()
    assert (targets[counted] == stream[1:]).all()
    padding = inputs == END
    assert (targets[padding] == IGNORE).all()


@given(SIZES, st.integers(0, 40))
def test_shape_type_and_layout(sizes, step):
    length, seq_len, batch_size = sizes
    batch = packed(np.arange(length, dtype=np.uint16), seq_len, batch_size, seed=0).batch(step)
    for array in (batch.inputs, batch.targets):
        assert array.shape == (batch_size, seq_len)
        assert array.dtype == np.int64
        assert array.flags.c_contiguous and array.flags.owndata


@given(SIZES, st.integers(0, 5), st.lists(st.integers(0, 60), min_size=1, max_size=8))
def test_any_step_at_once_gives_what_going_in_order_gives(sizes, seed, steps):
    length, seq_len, batch_size = sizes
    stream = np.arange(length)
    ordered = packed(stream, seq_len, batch_size, seed)
    in_order = [ordered.batch(step) for step in range(max(steps) + 1)]
    jumping = packed(stream, seq_len, batch_size, seed)
    for step in steps:
        batch = jumping.batch(step)
        assert (batch.inputs == in_order[step].inputs).all()
        assert (batch.targets == in_order[step].targets).all()


def test_the_same_seed_gives_the_same_sequences_whatever_the_batch_size():
    stream = np.arange(500)
    singles = packed(stream, 10, 1, seed=7)
    fours = packed(stream, 10, 4, seed=7)
    rows = np.concatenate([fours.batch(step).inputs for step in range(30)])
    assert (rows == np.concatenate([singles.batch(step).inputs for step in range(120)])).all()


def test_seeds_and_epochs_differ_in_order_and_not_in_content():
    stream = np.arange(400)
    first = packed(stream, 4, len(stream) // 4, seed=0)
    other = packed(stream, 4, len(stream) // 4, seed=1)
    a, b, c = first.batch(0).inputs, first.batch(1).inputs, other.batch(0).inputs
    assert (a != b).any() and (a != c).any()
    for rows in (b, c):
        assert (np.sort(rows[:, 0]) == np.sort(a[:, 0])).all()


def test_a_stream_shorter_than_one_sequence_is_padded():
    batch = packed(np.array([5, 6, 7]), 6, 2, seed=0).batch(9)
    assert batch.inputs.tolist() == [[5, 6, 7, END, END, END]] * 2
    assert batch.targets.tolist() == [[6, 7, IGNORE, IGNORE, IGNORE, IGNORE]] * 2


def test_the_last_token_alone_is_no_sequence():
    batches = packed(np.arange(9), 4, 1, seed=0)
    assert len(batches) == 2
    assert all((batches.batch(step).targets != IGNORE).all() for step in range(2))


@pytest.mark.parametrize(
    "tokens, seq_len, batch_size",
    [([1], 4, 1), ([], 4, 1), ([[1, 2]], 4, 1), ([1, 2], 0, 1), ([1, 2], 4, 0)],
)
def test_what_cannot_be_cut_is_refused(tokens, seq_len, batch_size):
    with pytest.raises(ValueError):
        packed(np.array(tokens), seq_len, batch_size, seed=0)


def test_without_a_seed_the_order_is_that_of_the_documents_in_every_epoch():
    batches = packed(np.arange(40), 4, 5, seed=None)
    assert batches.batch(0).inputs[:, 0].tolist() == [0, 4, 8, 12, 16]
    assert batches.batch(1).places.tolist() == [5, 6, 7, 8, 9]
    assert (batches.batch(2).inputs == batches.batch(0).inputs).all()


def test_a_batch_says_which_sequences_it_holds_and_how_large_it_is():
    batch = packed(np.arange(100), 8, 3).batch(1)
    assert (batch.inputs[:, 0] == 8 * batch.places).all()
    assert batch.nbytes == 8 * (24 + 24 + 3)


def test_a_negative_step_is_refused():
    with pytest.raises(ValueError, match="number = -1"):
        packed(np.arange(9), 4, 1, seed=0).batch(-1)
