"""The --grid of `predict`: fields with several values each, and every combination of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from cputrain.errors import UsageError
from cputrain.experiment import ExperimentError
from cputrain.experiment.described import FIELDS, is_flag, meant, value_of

MOST = 200
"""Combinations."""
FLAGS = {"true": True, "on": True, "false": False, "off": False}

Grid = dict[str, list[str]]
"""Field -> the texts of its values."""


def parse(text: str) -> Grid:
    """ "n_layer=4,8,12 n_embd=256,512".

    Raises:
        UsageError: no such text, no such field, or too many combinations.
    """
    grid: Grid = {}
    for word in text.split():
        name, _, values = word.partition("=")
        name = name.replace("-", "_")
        several = values.split(",")
        if not all(several):
            raise UsageError(f"--grid: {word!r} is not a field with values, as n_layer=4,8,12 is")
        if name not in FIELDS:
            raise UsageError(f"--grid: no field {name!r}; {meant(name, FIELDS)}")
        if name in grid:
            raise UsageError(f"--grid: {name} is there twice")
        grid[name] = list(dict.fromkeys(several))
    count = 1
    for several in grid.values():
        count *= len(several)
    if not grid or count > MOST:
        raise UsageError(f"--grid: {count if grid else 'no'} combinations; 1 to {MOST} are needed")
    return grid


def combinations(grid: Grid) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Each combination: its texts, and its fields.

    Raises:
        UsageError: a value that its field cannot have.
    """
    for texts in itertools.product(*grid.values()):
        yield texts, {name: _value(name, text) for name, text in zip(grid, texts, strict=True)}


def _value(name: str, text: str) -> Any:
    if is_flag(name):
        if text.lower() not in FLAGS:
            raise UsageError(f"--grid: {name} = {text!r}: on or off is needed")
        return FLAGS[text.lower()]
    try:
        return value_of(name, text)
    except ExperimentError as error:
        raise UsageError(f"--grid: {error}") from error
