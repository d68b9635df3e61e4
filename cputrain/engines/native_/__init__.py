"""Our own C: forward, backward and AdamW with OpenMP, for measuring compilers and their flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cputrain.engines.native_.engine import NativeEngine as NativeEngine
from cputrain.experiment import Experiment

if TYPE_CHECKING:
    from cputrain.engines import Weights


def build(experiment: Experiment, weights: Weights) -> NativeEngine:
    """The engine of this experiment; see `cputrain.engines.build`."""
    return NativeEngine(experiment, weights)
