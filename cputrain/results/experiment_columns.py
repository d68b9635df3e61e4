"""The columns of an experiment: every field by its own name, but for one."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from cputrain import experiment

RENAMED = {"steps": "steps_per_sample", "samples": "samples_per_worker"}
"""Fields that give way to a column of what was measured in all."""
LEFT_OUT = ("tries",)
"""Of a sample; its record says how many it took."""


def _field_types() -> dict[str, pl.DataType]:
    """Every such field by its own name, with the type that it has in a table."""
    plain = {int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean()}
    schema: dict[str, pl.DataType] = {}
    for part in experiment.PARTS.values():
        for name, kind in typing.get_type_hints(part).items():
            if name in LEFT_OUT:
                continue
            is_union = isinstance(kind, types.UnionType)
            kinds = set(typing.get_args(kind) if is_union else [kind]) - {type(None)}
            # A number that may also be a word ("max") is text.
            only = kinds.pop() if len(kinds) == 1 else str
            schema[RENAMED.get(name, name)] = plain.get(only, pl.String())
    return schema


FIELDS = _field_types()
"""Column -> type."""
DEFAULTS: dict[str, Any] = experiment.Experiment().to_json()
"""The default experiment, parts of fields."""


def row(parts: dict[str, Any]) -> dict[str, Any]:
    """Every field; those that a record of an earlier version lacks were at their default."""
    return dict(_row(msgspec.json.encode(parts)))  # cells of many machines run the same


@functools.lru_cache(maxsize=2000)
def _row(text: bytes) -> Mapping[str, Any]:
    parts = msgspec.json.decode(text)
    every = {
        k: v for name, part in DEFAULTS.items() for k, v in (part | parts.get(name, {})).items()
    }
    named = {RENAMED.get(name, name): value for name, value in every.items()}
    return {name: _plain(name, named[name]) for name in FIELDS}


def _plain(name: str, value: Any) -> Any:
    """A field's value in the type of its column; lists are joined by colons, as PATH is."""
    if value is None:
        return None
    if FIELDS[name] == pl.String():
        return (":".join(map(str, value)) or None) if isinstance(value, list) else str(value)
    if FIELDS[name] == pl.Boolean():
        return bool(value)
    return float(value) if FIELDS[name] == pl.Float64() else int(value)
