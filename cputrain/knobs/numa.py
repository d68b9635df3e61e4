"""Which NUMA nodes the pages are on."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class Numa(Knob):
    """Which NUMA nodes the pages are on."""
