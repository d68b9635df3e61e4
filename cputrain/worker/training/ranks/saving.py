"""What all ranks do for a checkpoint: they show that they agree, and the first one writes it.

It has the weights and the optimizer's state of rank 0, which are those of all, and the random
numbers of each: rank 0's as one process has them, the others' under their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cputrain.engines.torch_.long_run import RANDOM
from cputrain.knobs import inforce
from cputrain.record.proof import Check
from cputrain.worker.ranks import agreement
from cputrain.worker.ranks.group import Group
from cputrain.worker.training.checkpoints import RANKS
from cputrain.worker.training.saving import Saving

if TYPE_CHECKING:
    from cputrain.worker.training.checkpoints import Arrays


class RankSaving(Saving):
    """The checkpoints of a run of several processes: all of them have to ask at the same step.

    Args:
        given: see `Saving`.
        group: of the processes.

    Attributes:
        agreed: on rank 0, what all ranks showed at the last checkpoint.
    """

    def __init__(self, *given: Any, group: Group) -> None:
        super().__init__(*given)
        self._group = group
        self._others: dict[str, np.ndarray] = {}
        self.agreed: list[Check] = []

    def _is_time(self) -> bool:
        """By the clock of rank 0."""
        return self._group.any(self._group.rank == 0 and super()._is_time())

    def _own(self, state: Arrays, step: int) -> Arrays:
        """The state with this rank's random numbers.

        A rank that the checkpoint has none of, as fewer processes wrote it, draws from a seed of
        its own: of the experiment's, the step and its number.
        """
        rank, mine = self._group.rank, super()._own(state, step)
        if rank == 0:
            return mine
        if (kept := state.get(_name(rank))) is not None:
            return mine | {RANDOM: kept}
        words = np.random.SeedSequence([self._experiment.training.seed, step, rank])
        fresh = torch.Generator().manual_seed(int(words.generate_state(1, np.uint64)[0] >> 1))
        return mine | {RANDOM: fresh.get_state().numpy()}

    def _forget_after(self, step: int) -> None:
        """Once all have read it, rank 0 deletes what lies behind it."""
        self._group.wait_for_all()
        if self._group.rank == 0:
            super()._forget_after(step)

    def _write(self, step: int) -> None:
        """Show that the weights of all ranks are equal; then rank 0 writes."""
        self.agreed = agreement.same_weights(self._group, self._engine)
        inforce.require(self.agreed)
        random = self._group.gather(torch.get_rng_state().numpy())
        if self._group.rank == 0:
            self._others = {_name(n): array for n, array in enumerate(random) if n}
            super()._write(step)

    def _state(self) -> Arrays:
        return super()._state() | self._others


def _name(rank: int) -> str:
    return f"{RANKS}{rank}/{RANDOM}"
