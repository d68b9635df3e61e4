"""Which OpenMP library is loaded."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class OmpRuntime(Knob):
    """Which OpenMP library is loaded."""
