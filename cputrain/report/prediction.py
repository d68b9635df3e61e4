"""A prediction in plain lines, and many of them as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cputrain.analysis.cost.costs import EngineCosts
from cputrain.analysis.cost.predict import Prediction, Span
from cputrain.experiment import Experiment
from cputrain.report import described, words

HOUR = 3600.0
SMALL = 0.005
"""Share of a step below which a term is not named."""


@dataclass(frozen=True)
class PredictedRun:
    """How long is trained: steps, and the tokens of one."""

    steps: int
    tokens_per_step: int


def lines(
    experiment: Experiment, known: Prediction, run: PredictedRun, its: EngineCosts, has_length: bool
) -> list[str]:
    """What is said of one configuration.

    Args:
        experiment: as it was described, not settled.
        run: of the given length, or a single step.
        its: what the prediction is made from.
        has_length: whether a length was given.
    """
    room = _room(known)
    return [
        *described.lines(experiment)[:2],
        _memory(known),
        *([f"the machine has {words.size(known.machine_bytes)}: {room}"] if room else []),
        f"a step takes {_spanned(words.ratio, known.ratio, known.ratio_span)} the time of the "
        f"baseline's on {experiment.runtime.engine}, which takes {words.seconds(known.reference_s)}"
        " here, the median over all workers of the newest run that had it beside them",
        _seconds(known, run),
        f"of it {_parts(known)}; at the measured peak its products take "
        f"{words.seconds(known.at_peak_s)}",
        *([_run(known, run)] if has_length else []),
        *_doubts(known),
        _rests_on(its),
    ]


def _memory(known: Prediction) -> str:
    if known.memory_bytes is None:
        return "memory at the peak: not known, too few cells tell it"
    return f"memory at the peak: {_spanned(words.size, known.memory_bytes, known.memory_span)}"


def _room(known: Prediction) -> str | None:
    """What is said where the machine may have too little memory; None where it has enough."""
    if known.memory_bytes is None or not known.machine_bytes:
        return None
    low, high = known.memory_span or (0.0, known.memory_bytes)
    if high <= known.machine_bytes:
        return None
    return "it does not fit" if low > known.machine_bytes else "it may not fit"


def _seconds(known: Prediction, run: PredictedRun) -> str:
    span = known.span(run.steps)
    rate = run.tokens_per_step / known.seconds
    between = (
        f" [{words.seconds(span[0])}, {words.seconds(span[1])}], with how this machine's speed "
        "changes"
        if span
        else ""
    )
    return f"that is {words.seconds(known.seconds)}{between}; {words.number(rate)} tokens/s"


def _parts(known: Prediction) -> str:
    total = sum(known.by_term.values())
    shares = {name: s / total for name, s in known.by_term.items() if s / total >= SMALL}
    largest = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {share * 100:.0f} %" for name, share in largest)


def _run(known: Prediction, run: PredictedRun) -> str:
    span = known.span(run.steps)
    whole = None if span is None else (span[0] * run.steps, span[1] * run.steps)
    steps = f"{words.whole(run.steps)} step{'' if run.steps == 1 else 's'}"
    tokens = words.tokens(run.steps * run.tokens_per_step)
    return f"{steps}, {tokens}: {_spanned(_took, known.seconds * run.steps, whole)}"


def _took(seconds: float) -> str:
    """As a run's time; below a second as a step's."""
    return words.seconds(seconds) if seconds < 1 else words.duration(seconds)


def _doubts(known: Prediction) -> list[str]:
    doubts = []
    if known.outside:
        doubts.append(
            f"outside the calibrated range: {'; '.join(known.outside)}; the intervals are wider"
        )
    if known.doubts:
        doubts.append(
            f"not predicted well from other cells: {'; '.join(known.doubts)}; the interval is wider"
        )
    if known.half is None:
        doubts.append("no interval: too few cells were measured to tell how far off this is")
    elif known.span(1) is None:
        doubts.append("no interval of seconds: the records do not tell how this speed changes")
    return doubts


def _rests_on(its: EngineCosts) -> str:
    errors = its.time.errors
    text = f"intervals are of 90 %; learned from {errors.cells} cells"
    if errors.median_out is None or errors.p90_out is None:
        return text
    text += (
        f"; with whole levels left out it was off by {words.percent(errors.median_out)} in "
        f"the median, by up to {words.percent(errors.p90_out)} in nine of ten"
    )
    if errors.coverage is None:
        return text
    return f"{text}, and such intervals held {words.percent(errors.coverage)} of them"


def _spanned(say: object, value: float, span: Span | None) -> str:
    assert callable(say)
    text = str(say(value))
    return text if span is None else f"{text} [{say(span[0])}, {say(span[1])}]"


@dataclass(frozen=True)
class GridRow:
    """One configuration of a grid: its values, and what is predicted, or why nothing is."""

    values: Sequence[str]
    million: float | None = None
    known: Prediction | None = None
    run: PredictedRun | None = None
    why_not: str | None = None


HEAD = ("M params", "memory", "step", "tokens/s", "hours", "between (90 %)", "")


def table(fields: Sequence[str], rows: Sequence[GridRow]) -> list[str]:
    """The table of a grid, a line for each configuration.

    Args:
        fields: whose values differ.
        rows: in the order in which they are shown.
    """
    texts = [(*fields, *HEAD), *((*row.values, *_cells(row)) for row in rows)]
    wide = [max(map(len, column)) for column in zip(*texts, strict=True)]
    shown = [
        "  ".join([*(f"{text:>{w}}" for text, w in zip(row[:-1], wide, strict=False)), row[-1]])
        for row in texts
    ]
    return [line.rstrip() for line in shown]


def _cells(row: GridRow) -> tuple[str, ...]:
    known, run = row.known, row.run
    if known is None or run is None or row.million is None:
        return ("", "", "", "", "", "", row.why_not or "")
    span, room = known.span(run.steps), _room(known)
    between = "not known"
    if span is not None:
        between = " to ".join(words.number(end * run.steps / HOUR) for end in span)
    return (
        words.number(row.million),
        "" if known.memory_bytes is None else words.size(known.memory_bytes),
        words.seconds(known.seconds),
        words.number(run.tokens_per_step / known.seconds),
        words.number(known.seconds * run.steps / HOUR),
        between,
        "; ".join(
            [
                *([f"{room}: the machine has {words.size(known.machine_bytes)}"] if room else []),
                *(
                    f"{label}: {', '.join(word.split(' (')[0] for word in values)}"
                    for label, values in (("outside", known.outside), ("doubtful", known.doubts))
                    if values
                ),
            ]
        ),
    )
