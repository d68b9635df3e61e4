"""What OpenMP's threads do while they wait."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class Waiting(Knob):
    """What OpenMP's threads do while they wait."""
