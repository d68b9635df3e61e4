"""Documents held back: what a run is validated on is never trained on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cputrain.data.corpus import DataError
from cputrain.data.feed import Feed
from cputrain.data.prepared import Prepared
from cputrain.data.tokens import Tokens
from cputrain.experiment import Experiment
from cputrain.record.plan import TrainingPlan

if TYPE_CHECKING:
    from cputrain.data.batches import Batch

DRAW = 7
"""Second seed of the draw: the order of the batches has others."""


def held_back(documents: int, share: float, seed: int) -> np.ndarray:
    """Which documents are for validation [documents], bool: a share, one at least, by the seed.

    Raises:
        DataError: one document is too few for both.
    """
    if documents < 2:
        raise DataError(f"{documents} document: two are needed, one of them for validation")
    count = min(documents - 1, max(1, round(share * documents)))
    chosen = np.zeros(documents, bool)
    chosen[np.random.default_rng([seed, DRAW]).permutation(documents)[:count]] = True
    return chosen


def split(tokens: Tokens, share: float, seed: int) -> tuple[Tokens, Tokens]:
    """The tokens that are trained on and those held back, each document whole, in their order."""
    ends = np.flatnonzero(tokens.ids == tokens.end)
    if not len(ends) or ends[-1] != len(tokens.ids) - 1:
        ends = np.append(ends, len(tokens.ids) - 1)
    chosen = held_back(len(ends), share, seed)
    each = np.repeat(chosen, np.diff(ends, prepend=-1))
    return replace(tokens, ids=tokens.ids[~each]), replace(tokens, ids=tokens.ids[each])


class Split:
    """Both feeds of a run.

    Args:
        experiment: as it is trained, data in memory.
        plan: says how much is validated.
        train, rest: what is trained on, and what is held back.
        fingerprint: of both, for checkpoints.
        documents: "950 documents to train on, 50 to validate".

    Attributes:
        training: the feed that is trained on, shuffled, epoch after epoch.

    Raises:
        DataError: too little data.
    """

    def __init__(
        self,
        experiment: Experiment,
        plan: TrainingPlan,
        train: Prepared,
        rest: Prepared,
        fingerprint: str,
        documents: str,
    ) -> None:
        self.fingerprint, self.documents = fingerprint, documents
        try:
            self.training, self._rest = Feed(experiment, train), Feed(experiment, rest)
        except ValueError as error:  # nothing to cut
            raise DataError(f"{train.tokens.source}: {error}") from error
        sequences = self._rest.facts()["sequences"]
        # A last micro-batch that is not full would have some sequences a second time.
        full = max(1, sequences // experiment.training.batch_size)
        self._count = min(plan.validation_batches, full)

    def validation(self) -> list[Batch]:
        """The same micro-batches each time: the first of the documents held back, shuffled."""
        self._rest.go_to(0)
        return [self._rest.next() for _ in range(self._count)]
