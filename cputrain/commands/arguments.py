"""Values on the command line; bad ones are refused in one line. Standard library only."""

from __future__ import annotations

import argparse
import datetime
import math
import re

TOKENS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
"""Letter behind a number of tokens -> what it is multiplied by."""


def regex(text: str) -> str:
    """A regular expression, as it was given."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from None
    return text


def positive(text: str) -> float:
    """A number above 0."""
    value = _number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def temperature(text: str) -> float:
    """A number from 0 to 100."""
    value = _number(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 100")
    return value


def _number(text: str) -> float:
    """NaN, which lies in no range, for what is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def count(text: str) -> int:
    """A whole number from 1 to 100."""
    return _whole(text, 100)


def steps(text: str) -> int:
    """A whole number of at least 1 and at most a billion."""
    return _whole(text, 10**9)


def _whole(text: str, most: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {most}")
    return int(text)


def seed(text: str) -> int:
    """A whole number of at most nine digits."""
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at most 9 digits")
    return int(text)


def steps_or_none(text: str) -> int:
    """As `steps`, or 0, which is none."""
    return 0 if text == "0" else steps(text)


def time(text: str) -> datetime.time:
    """A time of day: "18:00"."""
    try:
        return datetime.datetime.strptime(text, "%H:%M").time()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time of day such as 18:00") from None


def tokens(text: str) -> int:
    """A number of tokens: "100M", "2.5B", "65536"."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([KMBT]?)", text.upper())
    count = float(match[1]) * TOKENS[match[2]] if match else 0.0
    if not 1 <= count <= 10**15:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens such as 100M")
    return round(count)
