"""What a step really executed, as its engine shows it: the base of every engine's own type.

An engine declares its type in its own folder (`engines.specs.Spec.evidence_type`).
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import field, structs

from cputrain.record import files
from cputrain.record.part import Count, Number, Part, typed

EncodedEvidence = dict[str, Any]
"""Evidence as JSON has it, in records and answers; `decoded` by who knows its engine's type."""


SHARE_DIGITS = 6
"""Of a share of dropout that is read from what ran, where it may be rounded."""


class Evidence(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What one step executed. Attributes at their default are left out in JSON.

    Attributes:
        ops: runs of each operator of interest, by the library's own name of it. Checks read it;
            records do not keep it.
        products_by_library: matrix products of the step by the library that executed them; None
            where they are not counted.
        dropped: the shares that masks of dropout drop, each once, to `SHARE_DIGITS`; None where
            they are not shown.
    """

    ops: dict[str, Count] = field(default_factory=dict)
    products_by_library: dict[str, Count] | None = None
    dropped: list[Number] | None = None


E = TypeVar("E", bound=Evidence)


def encoded(evidence: Evidence) -> EncodedEvidence:
    """As records keep it, without `ops`.

    Raises:
        files.RecordError: an attribute is of another type than declared; one line that names it.
    """
    values: EncodedEvidence = files.plain(structs.replace(evidence, ops={}))
    decoded(type(evidence), values)
    return values


def decoded(evidence_type: type[E], values: EncodedEvidence) -> E:
    """The evidence of an engine whose type is `evidence_type`.

    Raises:
        files.RecordError: a field is missing, unknown or of another type; one line that names it.
    """
    try:
        return typed(evidence_type, values)
    except msgspec.ValidationError as error:
        raise files.RecordError(f"evidence: {files.line(error)}") from error
