"""The compiler of inductor's C++."""

from __future__ import annotations

from cputrain.knobs.knob import Knob


class InductorCompiler(Knob):
    """The compiler of inductor's C++."""
