"""Windows: no token lost, none twice, documents kept apart where they are padded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cputrain.data.windows import PackedWindows, Padded, cut, cut_packed, cut_padded

END = 99
DOCUMENTS = st.lists(st.lists(st.integers(0, 98), max_size=30), min_size=1, max_size=12)
LENGTHS = st.integers(1, 12)


def stream(documents) -> np.ndarray:
    return np.array([token for document in documents for token in (*document, END)])


def same(a, b):
    assert [window.tolist() for window in a] == [window.tolist() for window in b]


@given(DOCUMENTS, LENGTHS, st.integers(1, 13))
def test_a_packed_stream_is_cut_alike_in_memory_and_document_by_document(documents, length, ahead):
    tokens = stream(documents)
    if len(tokens) < 2:
        return
    windows = PackedWindows(tokens, length, ahead)
    expected = [
        tokens[start : start + length + ahead].tolist()
        for start in range(0, len(tokens) - 1, length)
    ]
    assert [windows[place].tolist() for place in range(len(windows))] == expected
    same(
        (windows[place] for place in range(len(windows))),
        cut_packed((np.array([*document, END]) for document in documents), length, ahead),
    )


@given(DOCUMENTS, LENGTHS)
def test_padded_documents_are_cut_alike_in_memory_and_one_by_one(documents, length):
    if not any(documents):
        return
    windows = Padded(stream(documents), length, END)
    pieces = [windows[place] for place in range(len(windows))]
    same(pieces, cut_padded((np.array([*document, END]) for document in documents), length, 1))
    # Put together again, without each piece's first token, they are the documents.
    following = [token for window in pieces for token in window[1:]]
    assert following == [token for document in documents for token in [*document, END][1:]]
    assert all(2 <= len(window) <= length + 1 for window in pieces)
    assert all(END not in window[:-1] for window in pieces)


@given(DOCUMENTS, LENGTHS)
def test_next_tokens_are_counted(documents, length):
    tokens = stream(documents)
    if not any(documents):
        return
    for windows in (PackedWindows(tokens, length), Padded(tokens, length, END)):
        assert windows.n_next == sum(len(windows[i]) - 1 for i in range(len(windows)))


def test_a_last_token_alone_is_no_window():
    assert [w.tolist() for w in cut(np.arange(9), 4, 1)] == [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8]]


@pytest.mark.parametrize("tokens, length", [([END], 4), ([], 4), ([END, END], 4), ([1, END], 0)])
def test_what_cannot_be_cut_is_refused(tokens, length):
    with pytest.raises(ValueError):
        Padded(np.array(tokens), length, END)
