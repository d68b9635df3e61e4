"""What rank 0 has the other ranks do, at the same time as itself.

Ranks are processes of one program, and torch carries their messages as they are, arrays included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cputrain.record.part import Count, Part

if TYPE_CHECKING:
    from cputrain.data.batches import Batch


class Train(Part, frozen=True, kw_only=True):
    """Take steps of training."""

    steps: Count


class ComputeLoss(Part, frozen=True, kw_only=True):
    """Compute the loss of the rank's rows of a batch; the mean over all ranks is the batch's."""

    batch: Batch


class CheckSettings(Part, frozen=True, kw_only=True):
    """Read back the rank's settings, and send the checks to rank 0."""


class CompareWeights(Part, frozen=True, kw_only=True):
    """Send a fingerprint of each weight to rank 0."""


class Leave(Part, frozen=True, kw_only=True):
    """End: rank 0 has saved the model."""


Message = Train | ComputeLoss | CheckSettings | CompareWeights | Leave
