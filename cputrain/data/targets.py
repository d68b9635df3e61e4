"""What the targets of a batch must be, looked up in the tokens of the documents.

Apart from the code that makes batches, so that a mistake in the one is not in the other.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cputrain.data.batches import IGNORE, Batch
from cputrain.data.tokens import Tokens
from cputrain.errors import DidNotTrain
from cputrain.experiment.parts import Training
from cputrain.model.shapes import RELATIONS

ENOUGH = 10
"""Selected places from which none with a mask is a mistake: chance would be 0.2 ** 10."""


class Targets:
    """Checks batches of one objective.

    Args:
        training: objective, packing and seq_len.
        tokens: the stream that sequences are made of.
        mask: id of the mask, where there is one.
    """

    def __init__(self, training: Training, tokens: Tokens, mask: int) -> None:
        self._training = training
        self._tokens = tokens
        self._mask = mask
        halves = 2 if training.objective == "masked_node" else 1
        self._length = training.seq_len // halves

    def check(self, batch: Batch) -> None:
        """Compare every input and target with the documents.

        Raises:
            DidNotTrain: a target is not what the objective says, an input is not the
                document's, or nothing counts: in one line, with how many.
        """
        if batch.places is None or len(batch.places) != len(batch.inputs):
            raise DidNotTrain("the batch does not say which sequences it holds")
        places = batch.places
        if places.min() < 0 or places.max() >= len(self._spans):
            raise DidNotTrain(f"the batch names sequences of which there are {len(self._spans)}")
        if self._training.objective == "masked_node":
            self._nodes(batch)
        elif self._training.is_masked:
            self._hidden("token", self._known(batch, self._length), batch.inputs, batch.targets)
        else:
            self._causal(batch)

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """Where each sequence starts in the stream, and where its document or the stream ends."""
        ids, end, length = self._tokens.ids, self._tokens.end, self._length
        if self._training.packing == "packed":
            return [(start, len(ids)) for start in range(0, len(ids) - 1, length)]
        spans, first = [], 0
        for last in np.flatnonzero(ids == end).tolist():
            spans += [(start, last + 1) for start in range(first, last, length)]
            first = last + 1
        return spans

    def _known(self, batch: Batch, count: int) -> np.ndarray:
        """The documents' own tokens from each sequence's start on, IGNORE past their end."""
        known = np.full((len(batch.inputs), count), IGNORE)
        assert batch.places is not None
        for row, place in enumerate(batch.places):
            start, stop = self._spans[place]
            tokens = self._tokens.ids[start : min(start + count, stop)]
            known[row, : len(tokens)] = tokens
        return known

    def _causal(self, batch: Batch) -> None:
        known = self._known(batch, self._length + 1)
        wrong, counts = int((batch.targets != known[:, 1:]).sum()), known[:, 1:] != IGNORE
        if wrong or not counts.any():
            raise DidNotTrain(f"{wrong} of {int(counts.sum())} targets are not the next token")
        self._untouched("token", known[:, :-1], batch.inputs)

    def _nodes(self, batch: Batch) -> None:
        half, relations, node_targets = self._length, batch.relations, batch.node_targets
        if relations is None or node_targets is None:
            raise DidNotTrain("the batch has no nodes")
        first, second = relations[:, :half], relations[:, half:]
        if first.any() or (second < 1).any() or (second > RELATIONS).any():
            raise DidNotTrain(f"relations are not 0 with tokens and 1 to {RELATIONS} with nodes")
        stray = (batch.targets[:, half:] != IGNORE).sum() + (node_targets[:, :half] != IGNORE).sum()
        if stray:
            raise DidNotTrain(f"{int(stray)} targets of one head stand where the other's belong")
        known = self._known(batch, half + RELATIONS)
        self._hidden("token", known[:, :half], batch.inputs[:, :half], batch.targets[:, :half])
        related = np.take_along_axis(known, np.arange(half) + second, axis=1)
        # A token at the end of the stream has no token after it: its node is the end.
        related = np.where(related == IGNORE, self._tokens.end, related)
        related[known[:, :half] == IGNORE] = IGNORE
        self._hidden("node", related, batch.inputs[:, half:], node_targets[:, half:])

    def _hidden(
        self, unit: str, known: np.ndarray, inputs: np.ndarray, targets: np.ndarray
    ) -> None:
        """Targets are the originals of selected places; elsewhere the input is the original."""
        selected = targets != IGNORE
        count = int(selected.sum())
        wrong = int((targets != known)[selected].sum())
        if wrong or not count:
            raise DidNotTrain(f"{wrong} of {count} targets are not the original {unit}")
        most = np.maximum(1, (known != IGNORE).sum(axis=1) // 2)
        if (selected.sum(axis=1) > most).any():
            raise DidNotTrain(f"more than half of the {unit}s of a sequence are targets")
        if count >= ENOUGH and not (inputs[selected] == self._mask).any():
            raise DidNotTrain(f"none of {count} {unit}s that are targets is masked")
        self._untouched(unit, np.where(selected, inputs, known), inputs)

    def _untouched(self, unit: str, known: np.ndarray, inputs: np.ndarray) -> None:
        """Inputs are the documents', and `end` where those are over."""
        wrong = int((inputs != np.where(known == IGNORE, self._tokens.end, known)).sum())
        if wrong:
            raise DidNotTrain(f"{wrong} of {inputs.size} inputs are not the document's {unit}")
