"""Workers of a tuning beside each other: pairs of their blocks, and rounds of many changes."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from cputrain.record.part import Count, Number, Part, Seconds, Status, StepSeconds

First = Literal["cell", "reference"]
"""Whose block of a pair ran first."""


class Blocks(Part, frozen=True, kw_only=True):
    """A pair of blocks, one of a worker and one of another beside it.

    Attributes:
        step_s: the step of either as compared (`sample.compared_s`), the other's second.
        disturbed: others took more of one than of the other: the pair does not count.
        trip_ns, on_one_core, moved: where the CPUs were (`analysis.places`); None where that is not
            known.
        first: which of the two ran first.
    """

    step_s: tuple[StepSeconds, StepSeconds]
    disturbed: bool = False
    trip_ns: Number | None = None
    on_one_core: bool | None = None
    moved: bool = False
    first: First


class Round(Part, frozen=True, kw_only=True):
    """Two fresh workers beside each other, which differ in several changes at once.

    Attributes:
        is_joint: one side has all changes that are likely, the other none of them.
        levels: by the fields that differ, what either side had.
        pairs: blocks of the two.
        log_ratios: of each pair that counts, the logarithm of the first's step over the second's,
            both with their `unseen_s`.
        not_counting: numbers of its pairs, from 0, that do not count (`Raced`).
        unseen_s: of a step of either (`Raced`).
        status, reason: "ok" where both were warm and took their blocks.
        wall_s: seconds that it took.
    """

    levels: dict[str, tuple[str, str]]
    is_joint: bool = False
    pairs: list[Blocks] = field(default_factory=list)
    log_ratios: list[Number] = field(default_factory=list)
    not_counting: list[Count] = field(default_factory=list)
    unseen_s: tuple[Seconds, Seconds] = (0.0, 0.0)
    status: Status = "unproven"
    reason: str | None = None
    wall_s: Seconds = 0.0


class LevelEffect(Part, frozen=True, kw_only=True):
    """What races and rounds say that a change gives, beside the settings as they were described.

    Attributes:
        label: what it is called.
        ratio: of times, and the ends of its 90 % interval.
        is_chosen: whether it is part of what was put to the test.
    """

    label: str
    ratio: tuple[Number, Number, Number]
    is_chosen: bool


class JointEffect(Part, frozen=True, kw_only=True):
    """All likely changes together, by rounds that did not choose them.

    Attributes:
        labels: of the changes.
        ratio: of times, with them over without, and the ends of its 90 % interval.
        rounds: how many told it.
        is_chosen: they are faster by the whole interval, or look it where nothing else is chosen.
    """

    labels: list[str]
    ratio: tuple[Number, Number, Number]
    rounds: Count
    is_chosen: bool
