"""A trained model continues a text: asked in the measured environment, printed and kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import structs

from cputrain import atomic
from cputrain.data import tokenizer_file
from cputrain.errors import RunError
from cputrain.experiment import Experiment
from cputrain.record.answers import Failed
from cputrain.record.continued import ContinuationRequest, Continued, Prompt
from cputrain.record.trained import TrainRecord
from cputrain.report import train as report
from cputrain.run import continuing, stacks
from cputrain.run.session import Session
from cputrain.sweep import asvenv
from cputrain.sweep.one_request import RequestProcess
from cputrain.sweep.training.source import MODEL

KEPT = "samples.txt"
"""In a run's folder: all that its model wrote, one after the other."""


def why_not(experiment: Experiment) -> str | None:
    """Why a model of this training cannot continue a text; None where it can."""
    training = experiment.training
    if training.is_masked:
        return f"objective = {training.objective!r} predicts masked tokens, not the next one"
    if training.dataset != "text":
        return f"dataset = {training.dataset!r} is no text"
    return None


def at_end(
    record: TrainRecord, folder: Path, session: Session, say: Callable[[str], None]
) -> TrainRecord:
    """Have the model of a run that is done continue what its plan says; the record with that.

    Raises:
        RunError: it cannot be; the run is done all the same.
    """
    prompt = record.plan.prompt
    if prompt is None:
        return record
    say(f"continuing {prompt.text!r}")
    python = asvenv.Asv(session.mode, session.machine).python()
    try:
        answer = continued(folder / MODEL, folder / tokenizer_file.FILE, prompt, python, session)
    except RunError as error:
        again = f"python3 bench.py sample {record.name} TEXT"
        raise RunError(f"the run is done, but {error}; {again} tries again") from error
    for line in report.continued(answer):
        say(line)
    keep(folder, answer)
    return structs.replace(record, continued=answer)


def continued(
    model: Path, tokenizer: Path | None, prompt: Prompt, python: Path, session: Session
) -> Continued:
    """What a saved model writes after a prompt.

    Args:
        model: its file.
        tokenizer: its tokenizer's file; None is bytes.
        prompt: what it continues.
        python: of the measured environment.
        session: that the process is told.

    Raises:
        RunError: it cannot be, in one line.
    """
    process = RequestProcess(python, continuing.__name__, session.to_env(), stacks.MAIN, tells=True)
    request = ContinuationRequest(
        model=str(model), tokenizer=None if tokenizer is None else str(tokenizer), prompt=prompt
    )
    lines = b"".join(process.lines(request))
    ended = process.end()
    if not lines:
        raise RunError(f"nothing was written: its process ended with {ended}")
    answer = msgspec.json.decode(lines, type=Continued | Failed)
    if isinstance(answer, Failed):
        raise RunError(f"nothing was written: {answer.reason}")
    return answer


def keep(folder: Path, answer: Continued) -> None:
    """Add it to the texts in a run's folder.

    Raises:
        OSError: it cannot be written; what is there is as it was.
    """
    path = folder / KEPT
    before = path.read_bytes() + b"\n" if path.exists() else b""
    text = "".join(f"{line}\n" for line in report.continued(answer))
    atomic.write_bytes(path, before + text.encode())
