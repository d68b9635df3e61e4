"""Numbers for people: three significant digits, the unit that fits, thousands set apart.

What is no number (None, NaN, infinity) is unknown, and is said so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

UNKNOWN = "unknown"
MOST_DECIMALS = 4
FARTHEST = 1e4
"""Times as large or as small as its value that an end of an interval is shown."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
TIMES = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def is_known(value: float | None) -> bool:
    """Whether it is a number at all."""
    return value is not None and math.isfinite(value)


def number(value: float, decimals: int | None = None) -> str:
    """Three significant digits, or as many decimals as said; 12345 is "12 300"."""
    if not is_known(value):
        return UNKNOWN
    if decimals is None:
        decimals = _decimals(value)
    return f"{round(value, decimals):,.{max(decimals, 0)}f}".replace(",", " ")


def count(value: float) -> str:
    """How many: three significant digits, no more than one decimal: "1 230", "0.3", "0"."""
    if not is_known(value):
        return UNKNOWN
    return number(value, min(_decimals(value), 1)).removesuffix(".0")


def whole(value: int) -> str:
    """Every digit, thousands set apart: "2 783"."""
    return f"{value:,}".replace(",", " ")


def seconds(value: float) -> str:
    """A step time: "42.1 ms"."""
    if not is_known(value):
        return UNKNOWN
    size, unit = _unit(value)
    return f"{number(value / size, _decimals(value / size))} {unit}"


def ratio(value: float, low: float | None = None, high: float | None = None) -> str:
    """A ratio with its interval: "1.53x [1.50, 1.57]"; near 1 to three decimals.

    To more where an end would be 1.00 though it is not 1: "1.204x [1.004, 1.431]".
    """
    if not is_known(value):
        return UNKNOWN
    decimals = 3 if 0.9 < value < 1.1 else _decimals(value)
    ends = [end for end in (low, high) if end is not None and is_known(end) and end != 1]
    # On which side of 1 an end lies is what the interval is for.
    while decimals < MOST_DECIMALS and any(round(end, decimals) == 1 for end in ends):
        decimals += 1
    return f"{number(value, decimals)}x" + _interval(value, low, high, decimals)


def effect(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A paired effect with its interval, as `ratio`; nothing where there is none."""
    return "" if value is None else ratio(value, low, high)


def verdict(word: str | None, further_passes: int | None = None, doubt: str | None = None) -> str:
    """What is said of an effect: "slower", "not told (a single pair): about 1 more pass"."""
    if word is None:
        return ""
    if word != "not told":
        return word
    said = word if doubt is None else f"{word} ({doubt})"
    if further_passes is None:
        return said
    return f"{said}: about {further_passes} more pass{'' if further_passes == 1 else 'es'}"


def told(row: Mapping[str, Any]) -> str:
    """What is said of the effect of a row of the tables, as `verdict`."""
    return verdict(row["verdict"], row["further_passes"], row["doubt"])


def _interval(value: float, low: float | None, high: float | None, decimals: int) -> str:
    """ " [1.50, 1.57]", no finer than the value; a bound far above it to its own three digits.

    Nothing where a bound is unknown; of one that is too far from the value no digits.
    """
    if low is None or high is None or not (is_known(low) and is_known(high)):
        return ""
    if high > FARTHEST * value > 0 or 0 < low < value / FARTHEST:
        return f" (interval beyond a factor of {number(FARTHEST)})"
    upper = _decimals(high) if high > 10 * value else decimals
    return f" [{number(low, decimals)}, {number(high, upper)}]"


def rate(value: float, share: float | None = None) -> str:
    """A rate with its share of the most that was measured: "97.3 (81 %)"."""
    return number(value) + (f" ({percent(share)})" if share and is_known(share) else "")


def amount(value: float, noun: str, ending: str = "s") -> str:
    """A count and what is counted: "1 page fault", "2 350 page faults"."""
    text = count(value)
    return f"{text} {noun}" if text == "1" else f"{text} {noun}{ending}"


def tick(value: float) -> str:
    """A step time at a round place of an axis: "50 ms"."""
    if value <= 0:
        return "0"
    size, unit = _unit(value)
    return f"{value / size:.4g} {unit}"


def duration(value: float) -> str:
    """A run's time, to two or three digits: "42 s", "7.5 min", "1.9 h"."""
    if not is_known(value):
        return UNKNOWN
    size, unit = next((t for t in TIMES if value >= 2 * t[0]), TIMES[-1])
    return f"{value / size:.1f} {unit}" if value / size < 9.95 else f"{value / size:.0f} {unit}"


def took(value: float) -> str:
    """What a part of a run took: as `duration`, below a second as a step time."""
    return seconds(value) if is_known(value) and 0 < round(value, 3) < 1 else duration(value)


def tokens(count: int) -> str:
    """ "256 tokens", "1.66 million tokens"."""
    return f"{number(count / 1e6)} million tokens" if count >= 1e6 else amount(count, "token")


def parameters(count: int) -> str:
    """How many weights: "3.30 M", "22 000"."""
    return f"{number(count / 1e6)} M" if count >= 1e6 else number(count)


def size(value: float) -> str:
    """Bytes: "812 MiB", "1.93 GiB", below 10 MiB "0.3 MiB"."""
    if not is_known(value):
        return UNKNOWN
    if value < 10 * 2**20:
        return f"{count(value / 2**20)} MiB"
    return f"{number(value / 2**30)} GiB" if value >= 2**30 else f"{value / 2**20:.0f} MiB"


def percent(value: float) -> str:
    """ "1.3 %"."""
    if not is_known(value):
        return UNKNOWN
    return f"{100 * value:.1f} %" if value < 0.1 else f"{100 * value:.0f} %"


def _unit(value: float) -> tuple[float, str]:
    """The largest unit of which there is one, after rounding."""
    return next((unit for unit in UNITS if float(f"{value:.3g}") >= unit[0]), UNITS[-1])


def _decimals(value: float) -> int:
    """Decimals (negative: places before the point) that leave three significant digits."""
    if value <= 0 or not math.isfinite(value):
        return 2
    return 2 - math.floor(math.log10(float(f"{value:.3g}")))


def rate_name(kind: str) -> str:
    """The head of a column of measured rates, in 1e9 per second."""
    if kind == "bandwidth":
        return "memory triad, GB/s"
    return f"{kind} matrix product, {'GOP/s' if kind == 'int8' else 'GFLOP/s'}"
