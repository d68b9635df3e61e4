"""Batches of training sequences, in an order that depends on the seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

END = 256
"""Token id of end of text, in every vocabulary of text; it also fills what stays free."""

IGNORE = -100
"""Target where there is nothing to predict; torch's cross-entropy leaves it out by default."""


@dataclass(frozen=True)
class Batch:
    """What one micro-batch trains on; every array is int64 and contiguous.

    Attributes:
        inputs: token ids [batch_size, seq_len].
        targets: what the token head has to say at each place, IGNORE where that does not count
            [batch_size, seq_len]: the next token, or the original of a masked one.
        relations: for masked nodes, 1 + the relation that the node at this place stands in to
            its token, 0 where a token stands [batch_size, seq_len].
        node_targets: for masked nodes, the targets of the node head, IGNORE elsewhere.
        node_weight: of the node head's loss beside the token head's; see `engines.accumulating`.
        places: which sequences of an epoch these are, counted in the order of the documents
            [batch_size]; what `Feed.check` looks them up by.
    """

    inputs: np.ndarray
    targets: np.ndarray
    relations: np.ndarray | None = None
    node_targets: np.ndarray | None = None
    places: np.ndarray | None = None
    node_weight: float = 1.0

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.inputs, self.targets, self.relations, self.node_targets, self.places)
        return sum(array.nbytes for array in arrays if array is not None)

    def count(self) -> tuple[int, int]:
        """Targets that count: of the token head, and of the node head."""
        nodes = self.node_targets
        of_nodes = 0 if nodes is None else np.count_nonzero(nodes != IGNORE)
        return int(np.count_nonzero(self.targets != IGNORE)), int(of_nodes)

    def of_rank(self, rank: int, size: int) -> Batch:
        """Rows [rank * B / size, (rank + 1) * B / size) of these B sequences."""
        each = len(self.inputs) // size
        rows = slice(rank * each, (rank + 1) * each)
        arrays = {n: array[rows] for n, array in vars(self).items() if hasattr(array, "shape")}
        return replace(self, **arrays)


class Windows(Protocol):
    """A stream of tokens cut into the windows that sequences are made of; see `windows`."""

    def __len__(self) -> int:
        """Windows of one epoch."""

    def __getitem__(self, place: int) -> np.ndarray:
        """The tokens of one window, in the order of the documents."""


class Examples(Protocol):
    """Makes a batch of one objective from windows of tokens.

    Attributes:
        length: tokens that one sequence takes out of the stream.
        ahead: tokens after those that it looks at.
    """

    length: int
    ahead: int

    def batch(self, windows: Sequence[np.ndarray], places: Sequence[int]) -> Batch:
        """The batch of these windows, which have up to length + ahead tokens each."""


class Causal:
    """Next-token sequences: targets[b, t] is the token after inputs[b, t].

    A window shorter than seq_len + 1 is filled with `end`, and its targets with IGNORE.
    """

    ahead = 1

    def __init__(self, seq_len: int, end: int = END) -> None:
        self.length = seq_len
        self._end = end

    def batch(self, windows: Sequence[np.ndarray], places: Sequence[int]) -> Batch:
        """See `Examples`."""
        shape = (len(windows), self.length)
        inputs, targets = np.full(shape, self._end), np.full(shape, IGNORE)
        for row, window in enumerate(windows):
            inputs[row, : len(window)] = window[: self.length]
            targets[row, : len(window) - 1] = window[1:]
        return Batch(inputs, targets, places=np.array(places))


class Epochs:
    """An endless row of batches, any of them at once.

    Each epoch goes over all windows once, in an order of its own that is drawn from the seed
    and the epoch's number. A batch may reach into the next epoch.

    Args:
        windows: of one epoch.
        examples: makes batches of them.
        batch_size: sequences in a batch.
        seed: draws the order; None is the order of the documents, in every epoch.

    Raises:
        ValueError: no windows, or a batch size that is not positive.
    """

    def __init__(
        self, windows: Windows, examples: Examples, batch_size: int, seed: int | None
    ) -> None:
        if not len(windows) or batch_size < 1:
            raise ValueError(f"{len(windows)} windows, batch_size = {batch_size}: 1 or more needed")
        self._windows = windows
        self._examples = examples
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = -1
        self._order = np.arange(len(windows))

    def __len__(self) -> int:
        """Sequences in one epoch."""
        return len(self._windows)

    def batch(self, number: int) -> Batch:
        """Batch `number`, counted from 0.

        Raises:
            ValueError: a negative number.
        """
        if number < 0:
            raise ValueError(f"number = {number}: batches count from 0")
        return self.sequences(number * self._batch_size, self._batch_size)

    def sequences(self, first: int, count: int) -> Batch:
        """`count` sequences of the endless order from the one at `first` on, as one batch."""
        places = [self._place(position) for position in range(first, first + count)]
        return self._examples.batch([self._windows[place] for place in places], places)

    def _place(self, position: int) -> int:
        """Which sequence comes at `position` of the endless order."""
        epoch, index = divmod(position, len(self))
        if epoch != self._epoch:
            if self._seed is not None:
                self._order = np.random.default_rng([self._seed, epoch]).permutation(len(self))
            self._epoch = epoch
        return int(self._order[index])
