"""Which simulated pairs do not count: those during which others had the CPUs.

The rule sees counters of the machine over windows of time and never a step's time: a rule that saw
it would drop slow blocks, and with them the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DISTURBED_SHARE = 0.05
"""Of a window's CPU time or waiting: from there on it is disturbed."""
WINDOW_S = 2.0
"""How long windows should be, in seconds. The kernel counts the CPU time of others in ticks of
10 ms: in 2 s of one CPU that is half a percent, a tenth of `DISTURBED_SHARE`."""
SHORTEST_WINDOW_S = 1.5
"""A shorter window is not judged."""


@dataclass(frozen=True)
class Span:
    """From `start` to `end`, in seconds of one monotonic clock."""

    start: float
    end: float

    def overlaps(self, other: Span) -> bool:
        """Whether both have some time in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Window:
    """Counters of the CPUs that the cell and its reference may use, over a span.

    Attributes:
        span: about `WINDOW_S` long; that of a short pass reaches beyond its pairs.
        cpus: how many CPUs.
        others_s: CPU time of all processes but the two sides' and their children, seconds.
        wait_s: time that runnable threads of the side that was on waited for a CPU, seconds; None
            where that says nothing: it has more threads than CPUs.
        steal_s: CPU time that the hypervisor gave to others, seconds.
        throttled_s: time that a CPU quota stopped the control group, seconds.
    """

    span: Span
    cpus: int
    others_s: float
    wait_s: float | None
    steal_s: float
    throttled_s: float


@dataclass(frozen=True)
class PairSpans:
    """When the two blocks of a pair ran."""

    cell: Span
    reference: Span


@dataclass(frozen=True)
class Dropped:
    """Which pairs of a pass do not count.

    Attributes:
        pairs: for each pair, whether it is dropped.
        cell_share, reference_share: share of pairs whose block of that side was disturbed, 0 to 1.
            Where they differ much, one side is what disturbs.
    """

    pairs: tuple[bool, ...]
    cell_share: float
    reference_share: float

    @property
    def share(self) -> float:
        """Share of pairs that is dropped, 0 to 1."""
        return _share(self.pairs)


def disturbed(window: Window) -> str | None:
    """Why a window is disturbed, in a few words; None where it is not, or too short to say."""
    wall_s = window.span.end - window.span.start
    if wall_s < SHORTEST_WINDOW_S:
        return None
    if window.throttled_s > 0:
        return "a CPU quota held it back"
    # One thread that waits holds up the step, so waiting counts over wall time; what others had
    # counts over the time of all CPUs.
    if window.wait_s is not None and window.wait_s > DISTURBED_SHARE * wall_s:
        return "threads waited for CPUs"
    if window.others_s > DISTURBED_SHARE * wall_s * window.cpus:
        return "other processes had the CPUs"
    if window.steal_s > DISTURBED_SHARE * wall_s * window.cpus:
        return "the hypervisor had the CPUs"
    return None


def dropped(pairs: Sequence[PairSpans], windows: Sequence[Window]) -> Dropped:
    """Which pairs are dropped, as a whole: a block of theirs ran in a disturbed window.

    Args:
        pairs: of one pass, in the order of time.
        windows: of the time that they ran in; they may overlap or have gaps.
    """
    spoilt = [window.span for window in windows if disturbed(window)]
    cells = [any(pair.cell.overlaps(span) for span in spoilt) for pair in pairs]
    references = [any(pair.reference.overlaps(span) for span in spoilt) for pair in pairs]
    return Dropped(
        pairs=tuple(cell or reference for cell, reference in zip(cells, references, strict=True)),
        cell_share=_share(cells),
        reference_share=_share(references),
    )


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0
