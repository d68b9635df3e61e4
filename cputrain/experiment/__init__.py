"""The experiment: one complete setting of everything that can be varied.

An experiment is five frozen parts (model, training, runtime, system, budget). It
checks itself when it is made, turns into JSON and back, and has a short identity
that stays the same when a later version adds fields. Standard library only.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Self

from cputrain.experiment import rules
from cputrain.experiment.budget import Budget
from cputrain.experiment.fields import ExperimentError as ExperimentError
from cputrain.experiment.fields import refuse
from cputrain.experiment.parts import Model, Training
from cputrain.experiment.runtime import Runtime
from cputrain.experiment.system import System

SCHEMA = 2
"""Raise it when a default below changes: identities leave defaults out."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One complete setting of everything. See the parts for the fields."""

    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)
    runtime: Runtime = field(default_factory=Runtime)
    system: System = field(default_factory=System)
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        rules.check(self.model, self.training, self.runtime, self.system, self.budget)

    def but(self, **changes: Any) -> Self:
        """The same experiment with some fields changed, whatever part they are in.

        Raises:
            ExperimentError: a field that does not exist, or a value that cannot be.
        """
        by_part: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            if name not in PART_OF:
                refuse(name, value, f"no such field; there are {', '.join(sorted(PART_OF))}")
            by_part.setdefault(PART_OF[name], {})[name] = value
        parts = {
            part: dataclasses.replace(getattr(self, part), **fields)
            for part, fields in by_part.items()
        }
        return dataclasses.replace(self, **parts)

    def flat(self) -> dict[str, Any]:
        """Every field by its own name, parts forgotten; what `but` takes."""
        return {name: getattr(getattr(self, part), name) for name, part in PART_OF.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists, for `json.dumps`."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The experiment that `to_json` wrote. Fields that are absent take their defaults.

        Raises:
            ExperimentError: not an object of parts, an unknown part or field, or a bad value.
        """
        if not isinstance(data, dict):
            raise ExperimentError(f"experiment = {data!r}: an object of parts is needed")
        parts: dict[str, Any] = {}
        for part, fields in data.items():
            if part not in PARTS:
                refuse(part, fields, f"no such part; there are {', '.join(PARTS)}")
            if not isinstance(fields, dict):
                refuse(part, fields, "an object of fields is needed")
            unknown = [name for name in fields if PART_OF.get(name) != part]
            if unknown:
                refuse(f"{part}.{unknown[0]}", fields[unknown[0]], "no such field")
            given = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            parts[part] = PARTS[part](**given)
        return cls(**parts)

    @property
    def identity(self) -> str:
        """Twelve hexadecimal digits that name this setting, by the fields not at their default.

        How much is measured, the budget, is no part of it. Ask it of settled experiments
        (`engines.specs.settle`): None and the value that it means differ.
        """
        default = Experiment().flat()
        changed = {
            name: value
            for name, value in self.flat().items()
            if value != default[name] and PART_OF[name] != "budget"
        }
        text = json.dumps([SCHEMA, changed], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


PARTS: dict[str, Any] = {
    "model": Model,
    "training": Training,
    "runtime": Runtime,
    "system": System,
    "budget": Budget,
}
PART_OF: dict[str, str] = {
    f.name: part for part, kind in PARTS.items() for f in dataclasses.fields(kind)
}
