"""What a worker proves: settings that were in force, and that the model trained."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field, structs

from cputrain.record.part import Count, Number, Part


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """One setting: what was asked, what was found, and whether that is the same thing.

    In JSON `expected` is called asked, and `actual` found: records on disk have these names.
    """

    name: str
    expected: Any = field(name="asked")
    actual: Any = field(name="found")
    ok: bool

    def to_json(self) -> dict[str, Any]:
        """Plain, for `json.dumps`."""
        return {item.encode_name: getattr(self, item.name) for item in structs.fields(self)}

    def of_rank(self, rank: int) -> Check:
        """The same, named as that of one of several processes."""
        return Check(f"rank {rank}: {self.name}", self.expected, self.actual, self.ok)


class Trained(Part, frozen=True, kw_only=True):
    """What the training gates saw.

    Attributes:
        steps_taken, steps_done: optimizer steps, by the worker's count and by the optimizer's; in
            JSON the first is "steps_asked".
        parameters, parameters_moved: weight tensors, and how many of them changed.
        excused: tensors that need not have changed, each with the reason.
        spike_loss: of the first batch when it was first asked, where that was not below the start
            and was so after each of the next two steps; of other models None.
    """

    steps_taken: Count = field(name="steps_asked")
    steps_done: Count
    parameters: Count
    parameters_moved: Count
    excused: dict[str, str] = field(default_factory=dict)
    spike_loss: Number | None = None
