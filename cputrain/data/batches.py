"""Batches of next-token sequences, in an order that depends on the seed alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

END = 256
"""Token id of end of text, in every vocabulary; it also fills the last, short sequence."""

IGNORE = -100
"""Target where there is nothing to predict; torch's cross-entropy leaves it out by default."""


@dataclass(frozen=True)
class Batch:
    """What one optimizer step trains on.

    Attributes:
        inputs: token ids, int64 [batch_size, seq_len], contiguous.
        targets: targets[b, t] is the token after inputs[b, t], IGNORE where there is none;
            int64 [batch_size, seq_len], contiguous.
        relations: for masked nodes, 1 + the relation that the node at this place stands in to
            its token, 0 where a token stands; int64 [batch_size, seq_len].
        node_targets: for masked nodes, the targets of the node head, IGNORE elsewhere.
    """

    inputs: np.ndarray
    targets: np.ndarray
    relations: np.ndarray | None = None
    node_targets: np.ndarray | None = None


class Batches:
    """An endless row of batches over a packed stream of tokens, any of them at once.

    The stream is cut into sequences that share no input: sequence i reads the tokens
    i * seq_len to (i + 1) * seq_len - 1 and predicts those one further on, so that every
    token but the first is a target once per epoch. The last sequence is filled up with END
    and IGNORE. Each epoch has its own order, drawn from the seed and the epoch's number.

    Args:
        tokens: the packed stream, integers [n].
        seq_len: tokens in a sequence.
        batch_size: sequences in a batch; a batch may reach into the next epoch.
        seed: draws the order.

    Raises:
        ValueError: fewer than two tokens, or sizes that are not positive.
    """

    def __init__(self, tokens: np.ndarray, seq_len: int, batch_size: int, seed: int) -> None:
        if tokens.ndim != 1 or len(tokens) < 2:
            raise ValueError(f"tokens of shape {tokens.shape}: a row of two or more is needed")
        if seq_len < 1 or batch_size < 1:
            raise ValueError(f"seq_len = {seq_len}, batch_size = {batch_size}: 1 or more is needed")
        count = -(-(len(tokens) - 1) // seq_len)
        inputs = np.full(count * seq_len, END, np.int32)
        targets = np.full(count * seq_len, IGNORE, np.int32)
        inputs[: len(tokens)] = tokens[: count * seq_len]
        targets[: len(tokens) - 1] = tokens[1:]
        self._inputs = inputs.reshape(count, seq_len)
        self._targets = targets.reshape(count, seq_len)
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = -1
        self._order = np.empty(0, np.int64)

    def __len__(self) -> int:
        """Sequences in one epoch."""
        return len(self._inputs)

    def batch(self, step: int) -> Batch:
        """The batch of step `step`, counted from 0.

        Raises:
            ValueError: a negative step.
        """
        if step < 0:
            raise ValueError(f"step = {step}: steps count from 0")
        first = step * self._batch_size
        chosen = [self._sequence(position) for position in range(first, first + self._batch_size)]
        return Batch(self._inputs[chosen].astype(np.int64), self._targets[chosen].astype(np.int64))

    def _sequence(self, position: int) -> int:
        """Which sequence comes at `position` of the endless order."""
        epoch, place = divmod(position, len(self))
        if epoch != self._epoch:
            self._order = np.random.default_rng([self._seed, epoch]).permutation(len(self))
            self._epoch = epoch
        return int(self._order[place])
