"""How much of an experiment is measured: no part of what the experiment is."""

from __future__ import annotations

from dataclasses import dataclass

from cputrain.experiment.fields import real, whole, whole_or_none


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much is measured, and when to give up.

    Attributes:
        steps: timed optimizer steps in one sample; None is as many as take a twentieth of a
            second, or one.
        samples: samples that one worker takes; beside a reference, pairs of blocks.
        tries: of a sample that others disturb, with a pause before each; beside a reference one.
        micro_batches: of the grad_accum ones that are run in a step; the others are reckoned to
            take as long, and the step time is a sum. None is all: nothing is reckoned.
        warm_up_steps, warm_up_s: most steps and seconds spent on getting steady, outside the clock.
        deadline_s: wall-clock seconds that one worker may take in all.
    """

    steps: int | None = None
    samples: int = 5
    tries: int = 3
    micro_batches: int | None = None
    warm_up_steps: int = 30
    warm_up_s: float = 3.0
    deadline_s: int = 300

    def __post_init__(self) -> None:
        for name in ("samples", "tries", "deadline_s"):
            whole(self, name, 1)
        whole_or_none(self, "steps")
        whole_or_none(self, "micro_batches")
        whole(self, "warm_up_steps", 2)
        real(self, "warm_up_s", 0.0, 3600.0)
