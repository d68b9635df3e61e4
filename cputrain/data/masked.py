"""Masked tokens, as BERT's (Devlin et al. 2019, sec. 3.1, task 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cputrain.data.batches import IGNORE, Batch

SELECTED = 0.15
"""Share of the tokens that have to be predicted."""
MASKED = 0.8
"""Share of the selected ones that the mask replaces."""
REPLACED = 0.1
"""Share of the selected ones that a random token replaces; the others stay as they are."""


class Hiding:
    """Selects and hides tokens of one sequence, in the same way every time.

    Of the tokens that are not `end`, 15 % are selected, rounded and at least one; of those,
    each one becomes the mask (80 %), a token drawn from all of the tokenizer's (10 %), or stays
    (10 %). An end is selected only where there is nothing else.

    Args:
        vocab: ids that the tokenizer really has; those are drawn from.
        mask: id of the mask.
        end: id of end of text.
    """

    def __init__(self, vocab: int, mask: int, end: int) -> None:
        self._vocab = vocab
        self._mask = mask
        self._end = end

    def hide(self, generator: np.random.Generator, tokens: np.ndarray) -> tuple[np.ndarray, ...]:
        """Inputs and targets [n] of tokens [n]; a target is IGNORE where none is selected."""
        can = np.flatnonzero(tokens != self._end)
        if not len(can):
            can = np.arange(len(tokens))
        count = max(1, round(SELECTED * len(can)))
        selected = generator.permutation(can)[:count]
        draw, random = generator.random(count), generator.integers(self._vocab, size=count)
        inputs, targets = tokens.astype(np.int64), np.full(len(tokens), IGNORE)
        targets[selected] = tokens[selected]
        hidden = np.where(draw < MASKED + REPLACED, random, tokens[selected])
        inputs[selected] = np.where(draw < MASKED, self._mask, hidden)
        return inputs, targets


def generator(seed: int, place: int) -> np.random.Generator:
    """Draws for the sequence at `place` of the epoch; other draws than those of the order."""
    return np.random.default_rng([seed, place, 1])


class Masked:
    """Sequences of text with masked tokens; targets are the originals, IGNORE elsewhere.

    What is masked in a sequence is the same in every epoch, drawn from the seed and the
    sequence's place among the documents (BERT masks when the data are prepared, too). A
    window shorter than seq_len is filled with `end`, which is never selected.

    Args:
        seq_len: tokens in a sequence.
        vocab, mask, end: see `Hiding`.
        seed: draws what is masked.
    """

    ahead = 1
    """Not looked at: it is there so that text is cut into the same sequences as for `Causal`."""

    def __init__(self, seq_len: int, vocab: int, mask: int, end: int, seed: int) -> None:
        self.length = seq_len
        self._hiding = Hiding(vocab, mask, end)
        self._end = end
        self._seed = seed

    def batch(self, windows: Sequence[np.ndarray], places: Sequence[int]) -> Batch:
        """See `batches.Examples`."""
        shape = (len(windows), self.length)
        inputs, targets = np.full(shape, self._end), np.full(shape, IGNORE)
        for row, (window, place) in enumerate(zip(windows, places, strict=True)):
            tokens = window[: self.length]
            draws = generator(self._seed, place)
            inputs[row, : len(tokens)], targets[row, : len(tokens)] = self._hiding.hide(
                draws, tokens
            )
        return Batch(inputs, targets, places=np.array(places))
