"""What a run is trained on: the corpus, or somebody's own files; and the tokenizer of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from cputrain import atomic
from cputrain.data import corpus, tokenizer_file, tokens
from cputrain.data.corpus import DataError
from cputrain.data.prepared import Prepared, prepare
from cputrain.data.tokenizer_file import FromFile
from cputrain.data.tokens import Tokens
from cputrain.experiment import Experiment
from cputrain.record.plan import TrainingPlan
from cputrain.worker.training.making import Say, silent
from cputrain.worker.training.split import Split, split


def opened(
    experiment: Experiment,
    plan: TrainingPlan,
    root: Path,
    offline: bool,
    folder: Path | None = None,
    say: Say = silent,
) -> Split:
    """Both feeds; what is not kept under `root` yet is made first.

    Args:
        experiment: data in memory.
        plan: names the files, where there are some.
        root: the data folder.
        offline: download nothing.
        folder: of the run: where it fine-tunes, its tokenizer lies there; else it is written there.
            None keeps none.
        say: is told how far the making of tokens has come.

    Raises:
        DataError: data that cannot be used, or a tokenizer that is another one than the plan says.
    """
    training, share = experiment.training, plan.validation_share
    given = _given(plan, folder)
    size = experiment.model.vocab_size - training.is_masked
    if plan.files:
        from cputrain.worker.training import on_disk

        train, rest, facts = on_disk.kept(plan.files, size, share, training.seed, root, given, say)
        whole = Prepared(train, None, None, root)
        counts, file = facts["documents"], facts["tokenizer_file"]
    else:
        whole = (
            prepare(experiment, root, offline=offline)
            if given is None
            else _written(experiment, root, offline, given)
        )
        train, rest = split(whole.tokens, share, training.seed)
        counts = [int((part.ids == part.end).sum()) for part in (train, rest)]
        file = None
        if whole.corpus is not None:
            file = (given or tokens.tokenizer(whole.corpus, size, root)).file()
    if given is None and file is not None and folder is not None:
        atomic.write_text(folder / tokenizer_file.FILE, file)
    about = train.fingerprint, train.tokenizer, f"{counts[0]}+{counts[1]}", f"seed {training.seed}"
    return Split(
        experiment,
        plan,
        replace(whole, tokens=train),
        replace(whole, tokens=rest),
        " ".join(about),
        f"{_whole(counts[0])} documents to train on, {_whole(counts[1])} to validate",
    )


def _whole(count: int) -> str:
    """Every digit, thousands set apart: "2 046 300"."""
    return f"{count:,}".replace(",", " ")


def _given(plan: TrainingPlan, folder: Path | None) -> FromFile | None:
    """The tokenizer of the model that is fine-tuned."""
    if plan.start is None:
        return None
    assert folder is not None
    path = folder / tokenizer_file.FILE
    given = FromFile(path)
    if tokenizer_file.digest(given.file()) != plan.start.tokenizer:
        raise DataError(f"{path}: not the tokenizer of {plan.start.name}")
    return given


def _written(experiment: Experiment, root: Path, offline: bool, given: FromFile) -> Prepared:
    """The corpus in the ids of a given tokenizer."""
    text = corpus.load(root, offline=offline)
    rows = tokens.row_count(text, experiment.training.rows)
    ids = np.concatenate(given.encode(text.rows[:rows]))
    made = Tokens(ids, text.source, text.fingerprint, given.name, given.vocab, None)
    return Prepared(made, text.note, text, root)
