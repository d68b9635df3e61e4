"""Which library hands out memory."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class Allocator(Knob):
    """Which library hands out memory."""
