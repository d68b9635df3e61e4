"""A projection in plain lines: when the run will have come how far, and what that rests on."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from cputrain.analysis.projection import LEVEL, Milestone, Projection
from cputrain.experiment.published import PublishedFigure
from cputrain.report import clock, words
from cputrain.wording import counted

KWH = 3.6e6
"""Joules of a kilowatt-hour."""


def lines(
    known: Projection,
    tokens_per_step: int,
    start: datetime.datetime,
    figures: Sequence[PublishedFigure],
) -> list[str]:
    """What is said of a run.

    Args:
        tokens_per_step: of the experiment.
        start: local time at which it starts.
        figures: what others published of the same configuration.
    """
    return [
        _measured(known, tokens_per_step),
        *([f"a step's time is reckoned, the {known.composed}"] if known.composed else []),
        *_disturbed(known),
        *_table(known, start),
        _tokens(known, tokens_per_step),
        _why(known),
        *(_published(figure, known) for figure in figures if figure.step_s),
    ]


def cost(
    known: Projection, watts: float | None, price: float | None, no_counter: str
) -> str | None:
    """Energy, and what it costs; None where nobody asked and no counter is there.

    Args:
        watts: that the machine draws, as the user says; None takes the machine's own counter.
        price: of a kilowatt-hour.
        no_counter: why there is none, where there is none.
    """
    if watts is None and known.energy_j is None:
        if price is None:
            return None
        return f"energy: not known ({no_counter}); --watts N reckons with what you know it draws"
    if watts is not None:
        joules, source = watts * known.left * known.step_s, f"at the {watts:g} W that you gave"
    else:
        joules, source = (known.energy_j or 0.0) * known.left, "by the CPU's own counter"
    text = f"energy: {words.number(joules / KWH)} kWh {source}"
    return (
        text
        if price is None
        else (f"{text}, which cost {words.number(joules / KWH * price)} at {price:g} each")
    )


def _measured(known: Projection, tokens_per_step: int) -> str:
    return (
        f"measured: {counted(known.measured, 'step')} in {words.duration(known.measured_s)}, "
        f"{words.seconds(known.step_s)} each in the mean, {words.seconds(known.fastest_s)} to "
        f"{words.seconds(known.slowest_s)} over some seconds; "
        f"{words.number(tokens_per_step / known.step_s)} tokens/s"
    )


def _disturbed(known: Projection) -> list[str]:
    if not known.disturbed:
        return []
    share = words.percent(known.disturbed)
    return [
        f"other work held the steps up in {share} of that time: this is the projection of a busy "
        "machine; python3 bench.py doctor says what disturbs"
    ]


def _table(known: Projection, start: datetime.datetime) -> list[str]:
    rows = [("step", "left done", "after", "at", f"between ({LEVEL * 100:.0f} %)")]
    rows += [_row(milestone, start) for milestone in known.milestones]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{text:>{w}}" for text, w in zip(row, wide, strict=True)) for row in rows]


def _row(milestone: Milestone, start: datetime.datetime) -> tuple[str, str, str, str, str]:
    at = _clock(milestone.seconds, start)
    if milestone.low is None or milestone.high is None:
        between = "not known"
    else:
        between = f"{_clock(milestone.low, start)} and {_clock(milestone.high, start)}"
    done = f"{milestone.share * 100:.0f} %"
    return words.whole(milestone.step), done, words.duration(milestone.seconds), at, between


def _clock(seconds: float, start: datetime.datetime) -> str:
    """ "18:04", with seconds below ten minutes."""
    return clock.after(seconds, start, "%H:%M:%S" if seconds < 600 else "%H:%M")


def _tokens(known: Projection, tokens_per_step: int) -> str:
    return f"{words.tokens(known.left * tokens_per_step)} in {counted(known.left, 'step')}"


def _why(known: Projection) -> str:
    drift = known.drift
    if drift is None:
        return (
            "no interval: the records tell nothing of how this machine's speed changes with time; "
            "python3 bench.py --quick leaves some"
        )
    text = (
        f"the interval is this machine's drift: {words.duration(drift.recorded_s)} of records in "
        f"{counted(drift.sessions, 'run')}"
    )
    if known.far is not None:
        text += f", from minutes like this one ({_where(known.far)})"
    if drift.uneven > 1:
        text += (
            f", {words.number(drift.uneven)} times as wide, as this minute's steps were so much "
            "more uneven than those of the records' minutes"
        )
    if drift.evenings == 1:
        text += "; one evening does not tell how another differs, so it may be too narrow"
    if known.milestones[-1].seconds > drift.longest_s:
        text += (
            f"; none is longer than {words.duration(drift.longest_s)}, and what lies beyond that "
            "(other work, heat, another host) is not in it"
        )
    return text


def _where(far: float) -> str:
    if far in (0.0, 1.0):
        return f"the CPUs {'far apart' if far else 'near each other'}"
    return f"the CPUs far apart for {words.percent(far)} of it"


def _published(figure: PublishedFigure, known: Projection) -> str:
    assert figure.step_s is not None
    low, high = (words.duration(known.left * s) for s in figure.step_s)
    time = low if low == high else f"{low} to {high}"
    kind = "published" if figure.is_measured else "expected by its authors"
    where = f" on {figure.hardware}" if figure.hardware else ""
    return f"{kind}{where}: {time} for as many steps, theirs and not measured here"
