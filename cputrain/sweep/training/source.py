"""A trained model that lies here: which one a name means, what it is, and its tokenizer.

Standard library and msgspec: the file's head is read, no weight of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.data import tokenizer_file
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.experiment.rules import BYTES
from cputrain.model.shapes import weight_shapes
from cputrain.record.trained import TrainRecord
from cputrain.sweep.training.folders import folder_of, others, record_of
from cputrain.wording import one_line

MODEL = "model.safetensors"
SUFFIX = ".safetensors"
HEAD = 8
"""Bytes at the start of a safetensors file: how long its JSON is that follows."""
LONGEST = 100_000_000
"""Of that JSON, as safetensors itself has it."""
CHUNK = 1 << 22


@dataclass(frozen=True)
class Source:
    """A trained model.

    Attributes:
        name: as it was asked for.
        model: its file.
        experiment: of its training.
        tokenizer: its file beside the model; None where there is none.
    """

    name: str
    model: Path
    experiment: Experiment
    tokenizer: Path | None

    def sha256(self) -> str:
        """Of the model's file."""
        digest = hashlib.sha256()
        with self.model.open("rb") as file:
            while data := file.read(CHUNK):
                digest.update(data)
        return digest.hexdigest()

    def record(self) -> TrainRecord | None:
        """Of the run in whose folder it lies; None where there is none.

        Raises:
            UsageError: it cannot be read.
        """
        then = "delete it or move it away, and the model is taken without it"
        return record_of(self.model.parent, then)

    def note(self) -> str | None:
        """One line where its run has gone on since it was written; None where that is done.

        Raises:
            UsageError: the run's record cannot be read.
        """
        record = self.record() if self.model.name == MODEL else None
        if record is None or (record.ended is not None and record.ended.is_done):
            return None
        resume = f"python3 bench.py {record.plan.verb} --resume {record.name}"
        return (
            f"{self.model}: its run is not done, and this may be the model of an earlier step: "
            f"{resume} goes on with it"
        )

    def tokenizer_text(self) -> str:
        """Of the tokenizer's file; of bytes where a model of 257 ids has none beside it.

        Raises:
            UsageError: there is none, or it is another one than the model was trained with.
        """
        training, ids = self.experiment.training, self.experiment.model.vocab_size
        if training.dataset != "text":
            raise UsageError(f"{self.name}: dataset = {training.dataset!r} is no text")
        if self.tokenizer is None:
            if ids - training.is_masked == BYTES:
                return tokenizer_file.of_bytes()
            raise UsageError(
                f"{self.model.parent} has no {tokenizer_file.FILE}, and a model of {ids} ids means "
                "nothing without it: train it again"
            )
        try:
            text = self.tokenizer.read_text(encoding="utf-8")
            last = max(json.loads(text)["model"]["vocab"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{self.tokenizer}: no tokenizer of a run: {error}") from error
        if last >= ids:
            raise UsageError(
                f"{self.tokenizer}: another model's: it has id {last}, the model has {ids} ids"
            )
        record = self.record()
        known = None if record is None or record.ended is None else record.ended.tokenizer
        if known is not None and known != tokenizer_file.digest(text):
            raise UsageError(f"{self.tokenizer}: not the one that {self.name} was trained with")
        return text


def named(name: str, machine: str, say: Callable[[str], None] = print) -> Source:
    """The model that a name means: of a run, which comes first, a run's folder, or a file.

    Args:
        name: of the model.
        machine: whose runs are meant.
        say: is told where it may not be the last one of its run.

    Raises:
        UsageError: there is none, it is no model, or its path is not UTF-8.
    """
    path = Path(name)
    if path.suffix == SUFFIX:
        model = path
    elif path.is_file():
        raise UsageError(f"{path}: no model: a run's name, its folder, or a {MODEL} is needed")
    elif path.is_dir() and not folder_of(machine, name).is_dir():
        model = path / MODEL
    else:
        folder = folder_of(machine, name)
        model = folder / MODEL
        if not model.exists():
            raise _missing(name, folder)
    model = Path(paths.recordable(model.absolute()))
    tokenizer = model.with_name(tokenizer_file.FILE)
    its = Source(name, model, _experiment(model), tokenizer if tokenizer.exists() else None)
    if (note := its.note()) is not None:
        say(one_line(note))
    return its


def _missing(name: str, folder: Path) -> UsageError:
    """Why there is no model of a run, and what to do. Raises UsageError: its record is broken."""
    instead = others(folder, MODEL)
    record = record_of(folder, f"and there is no {MODEL} beside it; {instead}")
    why = "is not done" if folder.exists() else "is not there"
    if record is not None:
        resume = f"python3 bench.py {record.plan.verb} --resume {folder.name}"
        instead = f"{resume} goes on with it"
        if record.ended is not None and record.ended.is_done:
            why = "has lost its model"
            instead = f"{resume} --steps N, with N above {record.ended.step}, writes another"
    return UsageError(f"run {name!r} {why}: there is no {folder / MODEL}; {instead}")


def _experiment(model: Path) -> Experiment:
    """What a file of weights says that it is.

    Raises:
        UsageError: it is no model of a run, is cut off, or has not the weights of what it says.
    """
    try:
        head = _head(model)
        experiment = Experiment.from_json(json.loads(head.pop("__metadata__")["experiment"]))
        shapes = {name: tuple(facts["shape"]) for name, facts in head.items()}
    except OSError as error:
        raise UsageError(f"{model}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, ExperimentError) as error:
        why = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else error
        raise UsageError(f"{model}: no model of a run: {why}") from error
    expected = weight_shapes(experiment)
    for name in expected.keys() | shapes.keys():
        if expected.get(name) != shapes.get(name):
            raise UsageError(f"{model}: no whole model: {name} is {shapes.get(name, 'not there')}")
    return experiment


def _head(model: Path) -> dict[str, Any]:
    with model.open("rb") as file:
        length = int.from_bytes(file.read(HEAD), "little")
        if not 0 < length <= LONGEST:
            raise ValueError("it does not begin as a safetensors file")
        head = json.loads(file.read(length))
        if not isinstance(head, dict):
            raise ValueError("its head is no object")
        file.seek(0, 2)
        head_end = HEAD + length
        data = max((facts["data_offsets"][1] for n, facts in head.items() if n[:2] != "__"))
        if file.tell() != head_end + data:
            raise ValueError(f"it has {file.tell()} bytes of {head_end + data}: it is cut off")
        return head
