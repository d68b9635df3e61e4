"""Streams of tokens cut into windows, each of which becomes one training sequence.

Windows share no input: one reads `length` tokens of its own and looks at the `ahead` ones
after them, so that with one ahead every token but the first is a target once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np


def cut(tokens: np.ndarray, length: int, ahead: int) -> Iterator[np.ndarray]:
    """The windows of one stream; the last one is shorter. A last token alone makes none.

    Args:
        tokens: [n].
        length: tokens from the start of a window to the start of the next.
        ahead: tokens that a window holds beyond those.
    """
    for start in range(0, len(tokens) - 1, length):
        yield tokens[start : start + length + ahead]


def cut_packed(documents: Iterable[np.ndarray], length: int, ahead: int) -> Iterator[np.ndarray]:
    """`cut` of the documents one after another, of which few are in memory at a time."""
    rest = np.empty(0, np.int64)
    for document in documents:
        rest = np.concatenate([rest, document])
        while len(rest) >= length + ahead:
            yield rest[: length + ahead]
            rest = rest[length:]
    yield from cut(rest, length, ahead)


def cut_padded(documents: Iterable[np.ndarray], length: int, ahead: int) -> Iterator[np.ndarray]:
    """`cut` of each document alone."""
    for document in documents:
        yield from cut(document, length, ahead)


class PackedWindows:
    """The windows of a packed stream [n]; documents follow one another within them.

    Raises:
        ValueError: fewer than two tokens, or a length that is not positive.
    """

    def __init__(self, tokens: np.ndarray, length: int, ahead: int = 1) -> None:
        _check(tokens, length)
        self._tokens = tokens
        self._length = length
        self._size = length + ahead
        self.n_next = len(tokens) - 1
        """Tokens of an epoch that are the next one of another in the same window."""

    def __len__(self) -> int:
        """Windows."""
        return -(-(len(self._tokens) - 1) // self._length)

    def __getitem__(self, place: int) -> np.ndarray:
        """Window `place`, with up to length + ahead tokens."""
        start = place * self._length
        return self._tokens[start : start + self._size]


class Padded:
    """The windows of each document alone, in the order of the documents.

    A document is what stands up to and with the next `end`. One of more than length + 1
    tokens becomes several windows, so that no token is lost; one of the end alone, none.

    Raises:
        ValueError: fewer than two tokens, no document of two, or a length that is not positive.
    """

    def __init__(self, tokens: np.ndarray, length: int, end: int) -> None:
        _check(tokens, length)
        stops = np.flatnonzero(tokens == end) + 1
        starts = np.concatenate([[0], stops[:-1]])
        following = stops - starts - 1
        pieces = -(-following // length)
        piece = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        self._tokens = tokens
        self._starts = np.repeat(starts, pieces) + length * piece
        self._stops = np.minimum(self._starts + length + 1, np.repeat(stops, pieces))
        self.n_next = int(following.sum())
        """Tokens of an epoch that are the next one of another in the same window."""
        if not len(self):
            raise ValueError(f"no document among {len(tokens)} tokens has two")

    def __len__(self) -> int:
        """Windows."""
        return len(self._starts)

    def __getitem__(self, place: int) -> np.ndarray:
        """Window `place`, with up to length + 1 tokens of one document."""
        return self._tokens[self._starts[place] : self._stops[place]]


def _check(tokens: np.ndarray, length: int) -> None:
    if tokens.ndim != 1 or len(tokens) < 2:
        raise ValueError(f"tokens of shape {tokens.shape}: a row of two or more is needed")
    if length < 1:
        raise ValueError(f"length = {length}: 1 or more is needed")
