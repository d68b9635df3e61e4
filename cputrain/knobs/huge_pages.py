"""Transparent huge pages."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class HugePages(Knob):
    """Transparent huge pages."""
