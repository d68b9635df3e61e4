"""Which library multiplies matrices."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class Matmul(Knob):
    """Which library multiplies matrices."""
