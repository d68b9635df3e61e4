"""Why steps take longer: rules over counters of slow steps and of fast ones.

For each cause, the share of the slow steps' time that they lost to it and the fast ones did not.
What has to be explained is the share that they lost in all: 20 % by steps of 1.25 times the time.
(What the fast ones lost weighs less by that factor: as many steps took less time.) The cause is the
one that explains most of it, where that is half at least:

- quota: a control group's CPU quota held threads back (`throttled_s`).
- neighbour: threads were ready to run and did not, as others had their CPUs.
- host: the hypervisor gave the CPUs' time to others (steal).
- sibling: others used the other hardware threads of its cores, each of which may take half of one.
- clock: the observed clock is lower. With more thermal throttle events than before it is heat;
  so it is where there are more of these and the clock cannot be read.
- place: a hypervisor has put two of its CPUs further apart, or on one core. What that costs depends
  on what is trained, so it is what the others do not explain.

Of those that explain it all, the first in this order counts: a clock may fall because others work.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cputrain.record.noise import MOVED, SHARED
from cputrain.record.notices import CauseName

EXPLAINS = 0.5
"""Share of the time lost from which a cause is named."""
IN_SECONDS: tuple[tuple[CauseName, str, float], ...] = (
    ("quota", "throttled_s", 1.0),
    ("neighbour", "waited_s", 1.0),
    ("host", "stolen_s", 1.0),
    ("sibling", "sibling_s", 0.5),
)
"""Cause, counter, and how much a second of it may cost."""


@dataclass(frozen=True)
class Counters:
    """What was counted over some time; None where that cannot be read.

    Attributes:
        wall_s: that time.
        throttled_s: that a quota held back the CPUs of the mask: their mean, as it holds back all
            of them together.
        waited_s, stolen_s: lost by threads or CPUs, their sum.
        sibling_s: of CPU time, their sum, on the other hardware threads of its cores.
        clock_ghz: observed at its end.
        heat_events: times that a CPU was too hot.
        round_trip_ns, at_once: of two of its CPUs at its end (`machine.round_trip`,
            `machine.one_core`).
        unread: why something is None, by its cause.
    """

    wall_s: float
    throttled_s: float | None = None
    waited_s: float | None = None
    stolen_s: float | None = None
    sibling_s: float | None = None
    clock_ghz: float | None = None
    heat_events: float | None = None
    round_trip_ns: float | None = None
    at_once: float | None = None
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cause:
    """A cause, and what each one explains as a share of the wall time.

    Attributes:
        is_one_core: whether two of its CPUs were one core in the slow steps alone.
    """

    name: CauseName
    shares: dict[CauseName, float]
    unread: dict[str, str]
    is_one_core: bool = False


def pooled(parts: Iterable[Counters]) -> Counters:
    """Of several times as of one: sums, and medians of what could be read at their ends."""
    parts = list(parts)

    def total(name: str) -> float | None:
        values = [value for part in parts if (value := getattr(part, name)) is not None]
        return sum(values) if len(values) == len(parts) else None

    def median(name: str) -> float | None:
        values = [value for part in parts if (value := getattr(part, name)) is not None]
        return statistics.median(values) if values else None

    return Counters(
        wall_s=sum(part.wall_s for part in parts),
        throttled_s=total("throttled_s"),
        waited_s=total("waited_s"),
        stolen_s=total("stolen_s"),
        sibling_s=total("sibling_s"),
        clock_ghz=median("clock_ghz"),
        heat_events=total("heat_events"),
        round_trip_ns=median("round_trip_ns"),
        at_once=median("at_once"),
        unread={name: why for part in parts for name, why in part.unread.items()},
    )


def cause(slow: Counters, fast: Counters, ratio: float) -> Cause:
    """Why the slow steps took `ratio` (above 1) times what the fast ones took."""
    shares: dict[CauseName, float] = {}
    for name, counter, weight in IN_SECONDS:
        more, less = getattr(slow, counter), getattr(fast, counter)
        if more is not None and less is not None:
            shares[name] = max(0.0, more / slow.wall_s - less / fast.wall_s / ratio) * weight
    hotter = _is_hotter(slow, fast)
    lost = 1 - 1 / ratio
    if slow.clock_ghz is not None and fast.clock_ghz is not None:
        shares["heat" if hotter else "clock"] = max(0.0, 1 - slow.clock_ghz / fast.clock_ghz)
    elif hotter:
        shares["heat"] = lost
    # From one core anywhere else is no move that costs anything.
    is_one_core = _is_one_core(slow) and not _is_one_core(fast)
    if is_one_core or (_is_further(slow, fast) and not _is_one_core(fast)):
        shares["place"] = max(0.0, lost - sum(shares.values()))
    unread = {**fast.unread, **slow.unread}
    best = max(shares, key=lambda name: min(shares[name], lost), default=None)
    explains = best is not None and shares[best] >= EXPLAINS * lost
    name = best if best and explains else "not known"
    return Cause(name, shares, unread, is_one_core)


def _is_hotter(slow: Counters, fast: Counters) -> bool:
    if slow.heat_events is None or fast.heat_events is None:
        return False
    return slow.heat_events / slow.wall_s > fast.heat_events / fast.wall_s


def _is_further(slow: Counters, fast: Counters) -> bool:
    if slow.round_trip_ns is None or fast.round_trip_ns is None:
        return False
    return slow.round_trip_ns > MOVED * fast.round_trip_ns


def _is_one_core(counters: Counters) -> bool:
    return counters.at_once is not None and counters.at_once > SHARED
