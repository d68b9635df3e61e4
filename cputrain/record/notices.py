"""What the watch of a run tells: memory that fills up, and steps that take another time."""

from __future__ import annotations

from typing import Literal

from msgspec import field, structs

from cputrain.record.part import Count, Number, Part, StepSeconds

CauseName = Literal["quota", "neighbour", "host", "sibling", "place", "heat", "clock", "not known"]


class Memory(Part, frozen=True, kw_only=True, tag_field="answer", tag="memory"):
    """Memory in use: before the first step, and where it fills up.

    Attributes:
        step: the last one that was done.
        used_bytes: without what the kernel would give back at once.
        limit_bytes, limited_by: of what is fullest: "this machine", or a control group.
        is_high: whether so much is in use that a run may end by it.
    """

    step: Count
    used_bytes: Count
    limit_bytes: Count
    limited_by: str
    is_high: bool = False


class Usual(Part, frozen=True, kw_only=True, tag_field="answer", tag="usual"):
    """The step time that later ones are held against.

    Attributes:
        step: the last one that it is of.
        step_s: a median (see `worker.training.drift`).
        is_steady: whether the windows that it is of agreed.
    """

    step: Count
    step_s: StepSeconds
    is_steady: bool


class Drift(Part, frozen=True, kw_only=True, tag_field="answer", tag="drift"):
    """Steps that took another time than usual.

    Attributes:
        first, last: step; no last one while it goes on, or to the end of the stretch.
        ratio: their step time over the usual one; below 1 it is the usual one from then on.
        step_s: their step time; usual_s: the usual one.
        cause: of the slower steps of the two.
        shares: of the slower steps' wall time, more than of the faster ones', by cause; of time
            that several threads or CPUs lost at once their sum.
        clock_ghz, usual_clock_ghz: the observed clock (`machine.clock`) in both.
        round_trip_ns, usual_round_trip_ns: between two of its CPUs (`machine.round_trip`) in both.
        is_one_core: whether two of its CPUs were one core (`machine.one_core`) in the slower
            steps, and not in the others.
        unread: causes that could not be looked for, and why.
    """

    first: Count
    last: Count | None = None
    ratio: Number
    step_s: StepSeconds
    usual_s: StepSeconds
    cause: CauseName
    shares: dict[CauseName, Number] = field(default_factory=dict)
    clock_ghz: Number | None = None
    usual_clock_ghz: Number | None = None
    round_trip_ns: Number | None = None
    usual_round_trip_ns: Number | None = None
    is_one_core: bool = False
    unread: dict[str, str] = field(default_factory=dict)


Notice = Memory | Usual | Drift


class Seen(Part, frozen=True, kw_only=True):
    """What was told in one stretch of a run.

    Attributes:
        memory: before its first step, and each time that it became high.
        usual: the first usual step time.
        drifts: in their order.
    """

    memory: list[Memory] = field(default_factory=list)
    usual: Usual | None = None
    drifts: list[Drift] = field(default_factory=list)

    def also(self, notice: Notice) -> Seen:
        """With a notice; one of a drift that is known already takes its place."""
        match notice:
            case Memory():
                return structs.replace(self, memory=[*self.memory, notice])
            case Usual():
                return structs.replace(self, usual=notice)
            case Drift():
                before = [drift for drift in self.drifts if drift.first != notice.first]
                return structs.replace(self, drifts=[*before, notice])
