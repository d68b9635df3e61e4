"""How many passes an interval needs to be narrower."""

from __future__ import annotations

import math

FIRST_PASS = 0.5
"""What the first pass is short of, of what each further one tells: widths go with
1 / sqrt(passes - 1/2). With one pass the scales are known the least, so the second makes an
interval narrower by more than sqrt(2): 1.75 times in simulations, and four passes 2.7 times."""
MOST_PASSES = 99
"""More further passes than this are not forecast: the effect cannot be told here."""


def further_passes(passes: int, narrower: float) -> int | None:
    """About how many more passes make an interval `narrower` times as narrow.

    Args:
        passes: so far, 1 or more.
        narrower: width now over width then.

    Returns:
        0 where it is narrow enough, None where that takes more than `MOST_PASSES`.
    """
    needed = FIRST_PASS + (passes - FIRST_PASS) * narrower**2 - passes
    return max(0, math.ceil(needed)) if needed <= MOST_PASSES else None
