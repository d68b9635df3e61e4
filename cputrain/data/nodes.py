"""Masked tokens and masked nodes: text, and nodes that stand in relations to its tokens.

The published runs with this objective (`mlm-80m`) train on text and a knowledge graph of
their own, which is not public. What stands for it here has the same form and the same cost,
and is true of the text, so that it can be learned: node j is attached to token j, and relation
r means "the token r + 1 places further on". A masked node can be told from its token, its
relation and the text around it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cputrain.data.batches import IGNORE, Batch
from cputrain.data.masked import Hiding, generator
from cputrain.model.shapes import RELATIONS


class Nodes:
    """Sequences whose first half are tokens of text, and whose second half are their nodes.

    The node at place seq_len / 2 + j belongs to the token at place j. Its relation r, 0 to 11,
    is drawn; it is the token r + 1 places after token j in the stream, `end` where the stream
    is over by then. Tokens and nodes are selected and hidden each by `masked.Hiding`.

    Args:
        seq_len: tokens and nodes in a sequence, an even number.
        vocab, mask, end: see `masked.Hiding`.
        seed: draws the relations and what is masked, with the sequence's place.
    """

    ahead = RELATIONS

    def __init__(self, seq_len: int, vocab: int, mask: int, end: int, seed: int) -> None:
        self.length = seq_len // 2
        self._hiding = Hiding(vocab, mask, end)
        self._end = end
        self._seed = seed

    def batch(self, windows: Sequence[np.ndarray], places: Sequence[int]) -> Batch:
        """See `batches.Examples`."""
        half = self.length
        shape = (len(windows), 2 * half)
        inputs, relations = np.full(shape, self._end), np.zeros(shape, np.int64)
        targets, node_targets = np.full(shape, IGNORE), np.full(shape, IGNORE)
        for row, (window, place) in enumerate(zip(windows, places, strict=True)):
            draws = generator(self._seed, place)
            stream = np.full(half + self.ahead, self._end)
            stream[: len(window)] = window
            relation = draws.integers(RELATIONS, size=half)
            nodes = stream[np.arange(half) + relation + 1]
            relations[row, half:] = relation + 1
            there = min(len(window), half)  # tokens that are not filling
            first, second = slice(there), slice(half, half + there)
            inputs[row, first], targets[row, first] = self._hiding.hide(draws, stream[:there])
            inputs[row, second], node_targets[row, second] = self._hiding.hide(draws, nodes[:there])
        return Batch(inputs, targets, relations, node_targets, np.array(places))
