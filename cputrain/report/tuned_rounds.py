"""Rounds of a tuning in plain lines."""

from __future__ import annotations

import math
import statistics

from cputrain.record.rounds import JointEffect, Round
from cputrain.record.tuning import TuningRecord
from cputrain.report import words
from cputrain.wording import counted


def round_(ran: Round, number: int) -> str:
    """A round that has ended."""
    changes = counted(len(ran.levels), "change")
    differ = f"with {changes} beside without" if ran.is_joint else f"that differ in {changes}"
    head = f"  round {number}, fresh workers {differ}"
    if ran.status != "ok":
        return f"{head}: {ran.status}: {ran.reason}"
    if not ran.log_ratios:
        return f"{head}: others had the CPUs"
    value = words.ratio(math.exp(statistics.median(ran.log_ratios)))
    return f"{head}: {value} by {counted(len(ran.log_ratios), 'pair')}"


def levels(record: TuningRecord) -> list[str]:
    """What rounds and races together say of each change, where there were rounds."""
    if not record.rounds:
        return []
    wide = max((len(level.label) for level in record.levels), default=0)
    lines = [
        f"  {level.label:<{wide}}  {words.ratio(*level.ratio)}{'  chosen' * level.is_chosen}"
        for level in record.levels
    ]
    rounds = counted(len(record.rounds), "round")
    return [f"each change, by races and {rounds} (90 % intervals):", *lines, *_joint(record.joint)]


def _joint(effect: JointEffect | None) -> list[str]:
    if effect is None:
        return []
    ratio, rounds = words.ratio(*effect.ratio), counted(effect.rounds, "round")
    came_of = "chosen" if effect.ratio[2] < 1 else "not surely faster; the test is to tell"
    came_of = came_of if effect.is_chosen else "not surely faster, so left out"
    told = f"{ratio} by {rounds} that did not choose them (90 % interval): {came_of}"
    return [f"together, {', '.join(effect.labels)}: {told}"]
