"""What was counted while steps were trained: by the kernel, and by the observed clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cputrain.experiment import Experiment
from cputrain.machine import (
    clock,
    heat,
    noise,
    one_core,
    reading,
    round_trip,
    threads,
    topology,
    two_cpus,
)
from cputrain.record.process import Placement
from cputrain.worker.training.causes import Counters
from cputrain.worker.watch import Watch

if TYPE_CHECKING:
    from cputrain.data.feed import Feed

Totals = dict[str, float | str]
"""What was counted since boot by cause, or why it was not."""
READINGS = {
    "quota": "throttled_s",
    "neighbour": "run_queue_share",
    "host": "steal_share",
    "clock": "clock_ghz",
}
"""Cause -> what of `Watch.seen` and the clock tells it."""


class CounterReader:
    """Reads what was counted since it was made, or asked last; it takes some milliseconds, for
    the clock and for where the CPUs are.

    Args:
        experiment, placement, feed: as for `worker.watch.Watch`.
    """

    def __init__(self, experiment: Experiment, placement: Placement, feed: Feed) -> None:
        self._make_watch = partial(Watch, experiment, placement, feed)
        self._cpus = placement.cpus
        self._watch, self._totals = self._make_watch(), totals(self._cpus)

    def __call__(self) -> Counters:
        """What was counted."""
        seen, now = {**self._watch.seen()[0], **clock.reading()}, totals(self._cpus)
        seen |= place(self._cpus)
        counters = since(seen, len(self._cpus), self._totals, now)
        self._watch, self._totals = self._make_watch(), now
        return counters


def place(cpus: Sequence[int]) -> dict[str, Any]:
    """Where a hypervisor has put two of these CPUs; empty where none is, or of one CPU."""
    try:
        can_move = len(cpus) > 1 and two_cpus.is_guest()
    except reading.Unknown:
        can_move = True  # it may: the readings say why they cannot be had
    if not can_move:
        return {}
    trip = two_cpus.reading("round_trip_ns", cpus, round_trip.between)
    return trip | two_cpus.reading("at_once", cpus, one_core.at_once)


def totals(cpus: Collection[int]) -> Totals:
    """Thermal throttle events of these CPUs, and busy seconds of their cores' other threads."""
    counted: Totals = {}
    for cause, reader in (("heat", heat.throttle_events), ("sibling", _beside_s)):
        try:
            counted[cause] = reader(cpus)
        except reading.Unknown as unknown:
            counted[cause] = str(unknown)
    return counted


def _beside_s(cpus: Collection[int]) -> float:
    """0 where no core has another thread. Raises reading.Unknown."""
    others = topology.other_threads(cpus)
    if not others:
        return 0.0
    ticks = noise.read(cpus=others).ticks
    if isinstance(ticks, str):
        raise reading.Unknown(ticks)
    return ticks.busy * threads.TICK_NS / 1e9


def since(seen: Mapping[str, Any], cpus: int, before: Totals, now: Totals) -> Counters:
    """Counters by cause.

    Args:
        seen: as `Watch.seen` has it, with the clock, and with `place`.
        cpus: in the mask.
        before, now: totals at the beginning and at the end.
    """
    unread = {cause: seen[f"{n}_reason"] for cause, n in READINGS.items() if seen[n] is None}
    added: dict[str, float | None] = {}
    for cause, end in now.items():
        start, added[cause] = before[cause], None
        if isinstance(start, str) or isinstance(end, str):
            unread[cause] = end if isinstance(end, str) else str(start)
        else:
            added[cause] = end - start
    if seen.get("round_trip_ns", 0.0) is None:
        unread["place"] = seen["round_trip_ns_reason"]
    wall_s, held_cpu_s = seen["wall_s"], seen["throttled_s"]
    throttled_s = None if held_cpu_s is None else held_cpu_s / cpus
    waited_s = None
    if "neighbour" not in unread:
        # Once for the quota's own share in it, and once as the kernel may count what a quota holds
        # back as time in the run queue, of each thread.
        held_s = 0.0 if throttled_s is None else throttled_s + held_cpu_s
        waited_s = max(0.0, seen["lost_share"] * wall_s - held_s)
    return Counters(
        wall_s=wall_s,
        throttled_s=throttled_s,
        waited_s=waited_s,
        stolen_s=None if seen["steal_share"] is None else seen["steal_share"] * cpus * wall_s,
        sibling_s=added["sibling"],
        clock_ghz=seen["clock_ghz"],
        heat_events=added["heat"],
        round_trip_ns=seen.get("round_trip_ns"),
        at_once=seen.get("at_once"),
        unread=unread,
    )
