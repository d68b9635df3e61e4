"""result/<machine>/machine.json, checked: what was measured of a machine."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from cputrain.machine import measurements
from cputrain.results.exchange.bundle import Refused

Threads = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,4}\Z")]
Rates = dict[Threads, Annotated[float, Meta(gt=0, le=1e18)]]
Text = Annotated[str, Meta(max_length=20_000)]
Texts = dict[Text, Text | None]
DEEPEST = 8


class MeasuredPeaks(Struct, forbid_unknown_fields=True):
    """The fields of `machine.measurements`."""

    date: Annotated[str, Meta(max_length=60)]
    torch: Annotated[str, Meta(max_length=100)] | None = None
    fp32_matmul_flops: Rates = {}
    bf16_matmul_flops: Rates = {}
    int8_matmul_flops: Rates = {}
    bandwidth_bytes_per_s: Rates = {}
    bandwidth_array_bytes: dict[Threads, Annotated[int, Meta(gt=0, le=10**15)]] = {}
    reasons: Texts = {}
    pinned: bool | None = None
    clock_ghz: Annotated[float, Meta(gt=0, le=1000)] | None = None
    clock_ghz_reason: Text | None = None
    libraries: dict[Text, dict[Text, Any]] = {}
    flags: Text | None = None
    unknown_facts: Texts = {}


def check(text: bytes) -> None:
    """Raises Refused where it is none, or a rate is no positive number."""
    try:
        measured = msgspec.json.decode(text, type=MeasuredPeaks)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        line = " ".join(str(error).split())[:150]
        raise Refused(f"not what was measured of a machine ({line})") from error
    for library in measured.libraries.values():
        if not isinstance(library.get("version", ""), str | None):
            raise Refused("not what was measured of a machine (a version is no text)")
        _check(library)


def joined(here: bytes, other: bytes) -> bytes | None:
    """Two files of one machine as one, rate by rate the better; None where it is what lies here.

    Both are checked, and of one CPU: another one gets another name (`where.name_for`).

    Raises:
        Refused: they are of two releases of torch.
    """
    mine, theirs = json.loads(here), json.loads(other)
    own, their = mine.get("torch"), theirs.get("torch")
    if own != their:
        raise Refused(f"peaks are known here of torch {own} and not {their}; those here stay")
    older, newer = sorted((theirs, mine), key=lambda content: content["date"])
    whole = measurements.joined(older, newer)
    return None if whole == mine else (json.dumps(whole, indent=1) + "\n").encode()


def _check(value: Any, depth: int = 0) -> None:
    """Settings of a library's build: words, numbers and lists of them."""
    if depth > DEEPEST:
        raise Refused("not what was measured of a machine (nested too deeply)")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, depth + 1)
