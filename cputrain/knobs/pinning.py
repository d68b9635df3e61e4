"""How OpenMP's threads are bound to CPUs."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class Pinning(Knob):
    """How OpenMP's threads are bound to CPUs."""
