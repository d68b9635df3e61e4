"""Clock, governor and turbo, which are changed on the machine."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class Clocked(Knob):
    """Clock, governor and turbo, which are changed on the machine."""
