"""The most that the libraries may use of the CPU's instructions."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class Instructions(Knob):
    """The most that the libraries may use of the CPU's instructions."""
