"""The console of a sweep, and how text, step times and durations stand on it."""

from __future__ import annotations

import math
from typing import IO

from rich.console import Console
from rich.markup import escape

from cputrain.wording import one_line

LOG_WIDTH = 120
"""A log has no width of its own."""


def standard_output(file: IO[str] | None = None) -> Console:
    """Standard output, or what stands for it: lines as they are, a terminal or a log."""
    console = Console(file=file, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = LOG_WIDTH
    return console


def shown(text: object) -> str:
    """Text for the console: neither its own markup nor the terminal's is obeyed."""
    return escape(one_line(text))


def seconds(value: float) -> str:
    """A step time for people: 42.1 ms, 1.53 s."""
    if not math.isfinite(value):
        return "unknown"
    if value < 1:
        return f"{value * 1e3:.3g} ms" if value < 0.9995 else "1.00 s"
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


def minutes(value: float) -> str:
    """A duration for people: 40 s, 12 min, 2.5 h."""
    if value < 90:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 90 * 60 else f"{value / 3600:.1f} h"
