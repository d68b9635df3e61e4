"""The fastest of many readings: what disturbs one only makes it slower."""

from __future__ import annotations

from collections.abc import Callable


def fastest_s(
    run: Callable[[], object], fewest: int, end: float, clock: Callable[[], float]
) -> float:
    """Seconds of the fastest call of `run`, called until the time is over.

    Args:
        run: what is timed.
        fewest: so many calls in any case.
        end: when to stop, by `clock`.
        clock: seconds.
    """
    fastest, readings = float("inf"), 0
    while readings < fewest or clock() < end:
        start = clock()
        run()
        fastest, readings = min(fastest, clock() - start), readings + 1
    return fastest
