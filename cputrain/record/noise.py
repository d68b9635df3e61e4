"""What went on while a sample was taken, and whether a hypervisor moved a CPU meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import field

from cputrain.record.part import Integer, Number, Readings

MOVED = 2.0
"""Ratio of two round trips from which a hypervisor has moved a CPU meanwhile: 57 and 345 ns were
seen (docs/figures/places.md), and 50 to 80 where none was moved."""
SHARED = 1.4
"""From this ratio of times at once and alone on (`machine.one_core`) two CPUs are one core."""
LONG_S = 0.5
"""Seconds of a block from which readings before and after it do not tell where the CPUs were: those
that it was expected to take, as a rule that saw what it took would drop fast blocks.

On a host that moves them within tenths of a second pairs with a block that long scatter by 8 to 14
% whether one was moved within a block or not, and hardly any is left where none was. Of short
blocks they scatter by 10 % without a move and by 16 % with one (docs/figures/places.md).
"""


class Noise(Readings, frozen=True, kw_only=True):
    """What went on while a sample was taken: see `machine.noise.between`.

    Attributes:
        wall_s: of the timed steps.
        expected_s: of these, by the fastest step of the warm-up: known before any block. None where
            a first step is timed, and in records of earlier versions.
        energy_j: of all packages (`machine.energy`).
        clock_ghz: the observed clock (`machine.clock`).
        round_trip_before_ns, round_trip_after_ns: between two CPUs of the mask
            (`machine.round_trip`), before the block with its discarded steps and after it;
            round_trip_cpus: which two.
        at_once_before, at_once_after: of the same two, how many times as long additions take on
            both at once (`machine.one_core`).
        communication_cpu_s: CPU seconds of threads that exchange gradients; None without them.
        disturbed: of one of several processes that train together.
        lost_share: of the wall time, what its threads waited while others had the CPUs, and what
            a quota held them back.
    """

    wall_s: Number | None = None
    expected_s: Number | None = None
    run_queue_share: Number | None = None
    voluntary_switches: Integer | None = None
    involuntary_switches: Integer | None = None
    minor_faults: Integer | None = None
    major_faults: Integer | None = None
    steal_share: Number | None = None
    others_cpu_s: Number | None = None
    throttled_s: Number | None = None
    load_1m: Number | None = None
    energy_j: Number | None = None
    clock_ghz: Number | None = None
    round_trip_before_ns: Number | None = None
    round_trip_after_ns: Number | None = None
    round_trip_cpus: list[Integer] = field(default_factory=list)
    at_once_before: Number | None = None
    at_once_after: Number | None = None
    communication_cpu_s: Number | None = None
    disturbed: bool | None = None
    lost_share: Number | None = None

    @property
    def round_trips_ns(self) -> list[float]:
        """Both, as far as they are known."""
        return _known(self.round_trip_before_ns, self.round_trip_after_ns)

    @property
    def at_once_ratios(self) -> list[float]:
        """Both, as far as they are known."""
        return _known(self.at_once_before, self.at_once_after)


def _known(*readings: float | None) -> list[float]:
    return [reading for reading in readings if reading is not None]


def hold_several_places(*blocks: Noise) -> bool:
    """Whether a CPU was moved within a block, and one of them is so long that this tells little.

    Such a block is a mean over the places where the CPUs were.
    """
    longest_s = max((block.expected_s or 0.0 for block in blocks), default=0.0)
    return longest_s >= LONG_S and any(map(_was_moved_within, blocks))


def was_moved(own: Noise, beside: Noise) -> bool:
    """Whether a hypervisor put a CPU elsewhere during two blocks, by what the CPUs were apart.

    Blocks of other masks are of other CPUs: what theirs are apart is not compared. Where one of the
    blocks is long, a CPU that moved within a block says nothing of the pair; one that was elsewhere
    for all of the one block than for all of the other does.
    """
    if hold_several_places(own, beside):
        return False
    if own.round_trip_cpus != beside.round_trip_cpus:
        return _was_moved_within(own) or _was_moved_within(beside)
    return _differ(
        own.round_trips_ns + beside.round_trips_ns, own.at_once_ratios + beside.at_once_ratios
    )


def _was_moved_within(block: Noise) -> bool:
    return _differ(block.round_trips_ns, block.at_once_ratios)


def _differ(trips_ns: Sequence[float], at_once_ratios: Sequence[float]) -> bool:
    """Whether readings are of different places."""
    is_far = bool(trips_ns) and max(trips_ns) > MOVED * min(trips_ns)
    return is_far or len({ratio > SHARED for ratio in at_once_ratios}) > 1
