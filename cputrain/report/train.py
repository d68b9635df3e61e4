"""A run in plain lines: how far it has come, how it ended, and what had been projected."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from cputrain.record.train import Beside, Ended, Progressed, TrainRecord
from cputrain.report import words
from cputrain.wording import counted


def progress(told: Progressed, steps: int, now: datetime.datetime) -> str:
    """One line on one moment of a run.

    Args:
        told: how far it has come.
        steps: of the whole run.
        now: local time.
    """
    parts = [f"step {words.whole(told.step)} of {words.whole(steps)}", f"loss {told.loss:.4f}"]
    if told.validation_loss is not None:
        parts.append(f"validation {told.validation_loss:.4f}")
    parts += [accuracy(told.accuracy)] if told.accuracy else []
    parts.append(f"{words.number(told.tokens_per_s)} tokens/s")
    if told.mfu is not None:
        parts.append(f"{words.percent(told.mfu)} of peak")
    if told.left_s is not None and told.step < steps:
        left = datetime.timedelta(seconds=told.left_s)
        parts.append(f"{words.duration(told.left_s)} left, done at {clock(now + left, now)}")
    return ", ".join(parts)


def accuracy(shares: Mapping[str, float]) -> str:
    """By what is predicted: "right: 12 % of masked tokens, 3.1 % of masked nodes"."""
    each = (f"{words.percent(share)} of masked {name}" for name, share in shares.items())
    return f"right: {', '.join(each)}"


def clock(at: datetime.datetime, now: datetime.datetime) -> str:
    """ "18:04:31" today, with the day on other ones."""
    text = at.strftime("%H:%M:%S")
    return text if at.date() == now.date() else f"{at.strftime('%a %d %b')} {text}"


def ended(record: TrainRecord, end: Ended) -> str:
    """How a run ended that came to an orderly end."""
    text = f"{counted(end.step, 'step')} of {words.whole(record.plan.steps)}"
    if end.validation_loss is not None:
        text += f", validation loss {end.validation_loss:.4f}"
    if end.best_loss is not None and end.best_step is not None:
        text += f", lowest {end.best_loss:.4f} at step {words.whole(end.best_step)}"
    wall_s = sum(stretch.wall_s for stretch in record.stretches)
    text += f"; {words.duration(end.training_s)} in steps, {words.duration(wall_s)} in all"
    many = len(record.stretches)
    return text if many == 1 else f"{text}, in {many} stretches"


def beside(known: Beside | None) -> str:
    """What had been projected, and what it took."""
    if known is None:
        return (
            "no projection of this training is on record here; "
            "python3 bench.py project --steps N makes one, before the next run"
        )
    text = f"projected {words.duration(known.projected_s)}"
    verdict = ""
    if known.low_s is not None and known.high_s is not None:
        text += f" [{words.duration(known.low_s)}, {words.duration(known.high_s)}]"
        inside = known.low_s <= known.actual_s <= known.high_s
        verdict = ": inside the interval" if inside else ": outside the interval"
    ratio = known.actual_s / known.projected_s
    took = words.duration(known.actual_s)
    return f"{text} for its steps, they took {took}, {words.ratio(ratio)} of it{verdict}"
