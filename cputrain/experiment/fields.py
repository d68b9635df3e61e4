"""How a field of an experiment is checked: every refusal names it, its value and the rule."""

from __future__ import annotations

import re
from typing import NoReturn


class ExperimentError(ValueError):
    """A setting that cannot be: the message names the field, the value and the rule."""


class NotOneOf(ExperimentError):
    """Another name than those of `allowed`."""

    def __init__(self, message: str, allowed: tuple[str, ...]) -> None:
        super().__init__(message)
        self.allowed = allowed


def refuse(name: str, value: object, rule: str) -> NoReturn:
    """Raise ExperimentError for `name`."""
    raise ExperimentError(f"{name} = {value!r}: {rule}")


def whole(part: object, name: str, least: int, most: int | None = None) -> None:
    """A whole number of at least `least` and, where it is given, at most `most`."""
    value = getattr(part, name)
    if type(value) is not int or value < least:
        refuse(name, value, f"a whole number of at least {least} is needed")
    if most is not None and value > most:
        refuse(name, value, f"a whole number of at most {most} is needed")


def whole_or_none(part: object, name: str, most: int | None = None) -> None:
    """None, or as `whole`, of at least 1."""
    if getattr(part, name) is not None:
        whole(part, name, 1, most)


def real(part: object, name: str, low: float, high: float) -> None:
    """A number between `low` and `high`, both allowed."""
    value = getattr(part, name)
    if type(value) not in (int, float) or not low <= value <= high:
        refuse(name, value, f"a number from {low:.9g} to {high:.9g} is needed")


def one_of(part: object, name: str, allowed: tuple[str, ...]) -> None:
    """One of the names in `allowed`. Raises NotOneOf."""
    value = getattr(part, name)
    if value not in allowed:
        rule = f"one of {', '.join(allowed)} is needed"
        raise NotOneOf(f"{name} = {value!r}: {rule}", allowed)


def word(part: object, name: str) -> None:
    """A word of small letters and digits, as names of folders are."""
    value = getattr(part, name)
    if not isinstance(value, str) or re.fullmatch("[a-z][a-z0-9]*", value) is None:
        refuse(name, value, "a word of small letters and digits is needed")


def flag(part: object, name: str) -> None:
    """True or False."""
    if type(getattr(part, name)) is not bool:
        refuse(name, getattr(part, name), "True or False is needed")
