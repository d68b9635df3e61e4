"""A run in plain lines: how far it has come, how it ended, and what had been projected."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cputrain.record.continued import Continued
from cputrain.record.plan import TrainingPlan
from cputrain.record.train import Ended, Progressed, Started
from cputrain.record.trained import FILE, PROGRESS, Beside, TrainRecord
from cputrain.report import clock, words
from cputrain.wording import counted, one_line


def progress(moment: Progressed, steps: int, now: datetime.datetime) -> str:
    """One line on one moment of a run.

    Args:
        moment: how far it has come.
        steps: of the whole run.
        now: local time.
    """
    parts = [f"step {words.whole(moment.step)} of {words.whole(steps)}", f"loss {moment.loss:.4f}"]
    if moment.validation_loss is not None:
        parts.append(f"validation {moment.validation_loss:.4f}")
    parts += [accuracy(moment.accuracy)] if moment.accuracy else []
    parts.append(f"{words.number(moment.tokens_per_s)} tokens/s")
    if moment.mfu is not None:
        parts.append(f"{words.percent(moment.mfu)} of peak")
    if moment.left_s is not None and moment.step < steps:
        done = clock.after(moment.left_s, now, "%H:%M:%S")
        parts.append(f"{words.duration(moment.left_s)} left, done at {done}")
    return ", ".join(parts)


def starts(plan: TrainingPlan) -> list[str]:
    """What a run fine-tunes; no line where it starts from scratch."""
    start = plan.start
    if start is None:
        return []
    return [f"fine-tuning {start.name}: {start.file}, SHA-256 {start.sha256[:12]}"]


def started(start: Started) -> str:
    """How good the model is that a run fine-tunes, and how much of it is trained."""
    many = f"{words.whole(start.trained)} of {words.whole(start.weights)} weights are trained"
    return f"step 0, validation {start.validation_loss:.4f}; {many}"


def accuracy(shares: Mapping[str, float]) -> str:
    """By what is predicted: "right: 12 % of masked tokens, 3.1 % of masked nodes"."""
    each = (f"{words.percent(share)} of masked {name}" for name, share in shares.items())
    return f"right: {', '.join(each)}"


def ended(record: TrainRecord, end: Ended) -> str:
    """How a run ended that came to an orderly end."""
    text = f"{counted(end.step, 'step')} of {words.whole(record.plan.steps)}"
    if end.waited is not None:
        text += f", ended early: {waited(end)}"
    if end.validation_loss is not None:
        text += f", validation loss {end.validation_loss:.4f}"
    if record.started is not None:
        text += f" ({record.started.validation_loss:.4f} before the first step)"
    if end.best_loss is not None and end.best_step is not None:
        text += f", lowest {end.best_loss:.4f} at step {words.whole(end.best_step)}"
    wall_s = sum(stretch.wall_s for stretch in record.stretches)
    text += f"; {words.duration(end.training_s)} in steps, {words.duration(wall_s)} in all"
    many = len(record.stretches)
    return text if many == 1 else f"{text}, in {many} stretches"


def waited(end: Ended) -> str:
    """Why a run ended before its last step."""
    assert end.waited is not None
    return f"no lower validation loss in {counted(end.waited, 'evaluation')}"


def how_ended(end: Ended) -> dict[str, str | None]:
    """`ended` and `reason` of the stretch that ended so."""
    if end.waited is not None:
        return {"ended": "done early", "reason": f"{waited(end)} since step {end.best_step}"}
    return {"ended": "done" if end.is_done else "stopped"}


def left(folder: Path, end: Ended, events: Iterable[str]) -> str:
    """What a run has left, and of which step its model is."""
    model = f"{end.model_file} of step {words.whole(end.step)}"
    if end.best_step is not None and end.best_step != end.step:
        model += f" (the lowest validation loss: checkpoints/step-{end.best_step}.safetensors)"
    return f"{folder}: {', '.join([model, PROGRESS, FILE, 'checkpoints/', *events])}"


def beside(known: Beside | None, project: str = "") -> str:
    """What had been projected, and what it took.

    Args:
        known: None where nothing had been.
        project: the command that would have.
    """
    if known is None:
        return f"no projection of this training was made before it; the next time first: {project}"
    text = f"projected {words.took(known.projected_s)}"
    verdict = ""
    if known.low_s is not None and known.high_s is not None:
        text += f" [{words.took(known.low_s)}, {words.took(known.high_s)}]"
        inside = known.low_s <= known.actual_s <= known.high_s
        verdict = ": inside the interval" if inside else ": outside the interval"
    ratio = known.actual_s / known.projected_s
    took = words.took(known.actual_s)
    return f"{text} for its steps, they took {took}, {words.ratio(ratio)} of it{verdict}"


def continued(answer: Continued) -> list[str]:
    """What a model wrote, after a line on how; the text is indented, and nothing in it is obeyed.

    A model writes whatever bytes it likes: escape sequences of terminals, too.
    """
    prompt = answer.prompt
    how = "the likeliest tokens"
    if prompt.temperature:
        how = f"temperature {prompt.temperature:g}, seed {prompt.seed}"
    end = ", and the end of the text" if answer.is_ended else ""
    text = f"{prompt.text}{answer.text}"
    return [
        f"{counted(answer.tokens, 'token')}{end} after {one_line(repr(prompt.text))}, {how}:",
        *(f"    {one_line(line)}" for line in re.split(r"\r\n|\r|\n", text)),
    ]
