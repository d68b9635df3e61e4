"""All that `tune` may choose for a model, engine by engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cputrain.experiment import Experiment
from cputrain.sweep.tuning import candidates, knobs, reduced
from cputrain.sweep.tuning.candidates import TuningCandidate
from cputrain.sweep.tuning.knobs import Changes

ENGINE = "engine"
"""The knob that says what has the others."""


@dataclass(frozen=True)
class SingleChange:
    """A value of a knob.

    Attributes:
        knob: its name.
        label: for people; no two of a share are alike.
        fields: that differ from the engine's plain settings.
        experiment: the plain settings with it alone, settled.
        is_whole: it is measured in whole micro-batches (`knobs.TuningKnob`).
    """

    knob: str
    label: str
    fields: Changes
    experiment: Experiment
    is_whole: bool


@dataclass(frozen=True)
class Share:
    """What an engine has of the grid.

    Attributes:
        label: of the engine.
        plain: the model's settings with the engine in its plain way, settled.
        singles: every value of every knob that this machine can have, beside `plain`.
    """

    label: str
    plain: Experiment
    singles: tuple[SingleChange, ...]

    def by_knob(self) -> dict[str, list[SingleChange]]:
        """Its values, by the knob's name."""
        made: dict[str, list[SingleChange]] = {}
        for single in self.singles:
            made.setdefault(single.knob, []).append(single)
        return made

    def groups(self) -> list[tuple[Callable[[Experiment], Experiment], list[SingleChange]]]:
        """Its values with how they run: as tune has them."""
        return [
            (reduced.reduced, [value for value in self.singles if not value.is_whole]),
            (reduced.composed, [value for value in self.singles if value.is_whole]),
        ]

    @property
    def size(self) -> int:
        """Combinations of all values, those among them that rules forbid."""
        return math.prod(1 + len(values) for values in self.by_knob().values())


def shares(
    default: Experiment, kept: Sequence[str], compiles: bool
) -> tuple[list[Share], list[str]]:
    """The grid of a model, and the engines that cannot be, each with the reason.

    Args:
        default: the model as described, settled.
        kept: fields that are not to be changed.
        compiles: whether torch.compile's inductor is part of it.
    """
    (engine,) = (knob for knob in knobs.table() if knob.name == ENGINE)
    can, cannot = candidates.of(engine, default, kept, ())
    usual = TuningCandidate(knobs.in_words(ENGINE, default.runtime.engine), {}, default)
    by_engine = {default.runtime.engine: [usual]}
    for candidate in can:
        by_engine.setdefault(candidate.experiment.runtime.engine, []).append(candidate)
    made = [_share(plain, variants, kept, compiles) for plain, *variants in by_engine.values()]
    return made, [f"{refused.label}: {refused.reason}" for refused in cannot]


def _share(
    plain: TuningCandidate, variants: Sequence[TuningCandidate], kept: Sequence[str], compiles: bool
) -> Share:
    base, seen = plain.experiment, {plain.experiment.identity}
    singles: list[SingleChange] = []
    of_knobs = [
        (knob.name, knob.is_whole, candidates.of(knob, base, kept, ())[0])
        for knob in knobs.table()
        if knob.name != ENGINE
    ]
    for name, is_whole, values in (*of_knobs, (ENGINE, False, variants)):
        for value in values:
            compiled = value.experiment.runtime.compile
            is_left_out = not compiles and compiled == "inductor" != base.runtime.compile
            if value.experiment.identity in seen or is_left_out:
                continue
            seen.add(value.experiment.identity)
            fields = differing(value.experiment, base)
            singles.append(SingleChange(name, value.label, fields, value.experiment, is_whole))
    return Share(plain.label, base, tuple(singles))


def differing(experiment: Experiment, other: Experiment) -> Changes:
    """The fields that differ, as the first has them."""
    others = other.flat()
    return {name: value for name, value in experiment.flat().items() if value != others[name]}
