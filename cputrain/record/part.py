"""The base of every record, and the kinds of numbers and words that one holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
StepSeconds = Annotated[float, Meta(gt=0, le=1e9)]
Number = Annotated[float, Meta(ge=-1e15, le=1e15)]
"""Small enough that sums and ratios of some are finite."""
Integer = Annotated[int, Meta(ge=-(2**53), le=2**53)]
"""What a column of integers, and a float, can hold."""
Count = Annotated[int, Meta(ge=0, le=2**62)]
Size = Annotated[int, Meta(ge=1, le=2**62)]
"""A count that others are divided by, or whose logarithm is taken."""

Status = Literal["unproven", "ok", "skipped", "failed", "timed out", "out of memory"]
"""What came of a worker. "unproven" until its training gates have passed: it has steps and no
number."""
Failure = Literal["skipped", "failed", "timed out", "out of memory"]


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a record: a field that it does not know is an error, as is one of another type."""


class Readings(Part, frozen=True, kw_only=True):
    """Readings of which some may be unknown.

    Attributes:
        reasons: why a reading is None, by its name.
    """

    reasons: dict[str, str] = field(default_factory=dict)


Field = bool | Integer | Number | str | list[Integer | str] | None
"""A field of an experiment."""
Parts = dict[str, dict[str, Field]]
"""An experiment, parts of fields."""

P = TypeVar("P", bound=Part)
R = TypeVar("R", bound=Readings)


def typed(kind: type[P], values: Mapping[str, Any]) -> P:
    """A part from plain values by field.

    Raises:
        msgspec.ValidationError: a field is missing, unknown or of another type.
    """
    return msgspec.convert(dict(values), kind)


def readings(kind: type[R], values: Mapping[str, Any]) -> R:
    """Readings from plain values, where "<name>_reason" says why <name> is None."""
    known = {name: value for name, value in values.items() if not name.endswith("_reason")}
    reasons = {
        name.removesuffix("_reason"): value
        for name, value in values.items()
        if name.endswith("_reason")
    }
    return typed(kind, {**known, "reasons": reasons})
