"""The thread counts that torch is told after its start."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class TorchThreads(Knob):
    """The thread counts that torch is told after its start."""
