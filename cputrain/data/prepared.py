"""Data made and kept before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cputrain.data import corpus, tokens
from cputrain.data.tokens import Tokens
from cputrain.experiment import Experiment


@dataclass(frozen=True)
class Prepared:
    """The data of an experiment, made and kept.

    Attributes:
        tokens: the whole stream.
        note: one line where the hub was wanted and not used, at the time it was tried.
        corpus: the texts; None with made paths.
        root: the data folder.
    """

    tokens: Tokens
    note: str | None
    corpus: corpus.Corpus | None
    root: Path


def prepare(experiment: Experiment, root: Path, *, offline: bool) -> Prepared:
    """Make and keep what the experiment's feed needs, where it is not there yet.

    Called for every experiment before the first is measured, it keeps the tokenizing out of
    the measurement: corpus, tokenizer, tokens, and the file of lines of a streaming loader.

    Args:
        experiment: data set, rows, vocabulary, objective and loader count.
        root: the data folder.
        offline: never touch the network.

    Raises:
        DataError: data that cannot be used or kept: one line.
    """
    training, size = experiment.training, experiment.model.vocab_size
    if training.dataset == "paths":
        from cputrain.data import walks

        return Prepared(walks.tokens(training.rows), None, None, root)
    text = corpus.load(root, offline=offline)
    # The last row of the table is the mask's, where there is one.
    ids = tokens.token_array(text, size - training.is_masked, training.rows, root)
    if training.loader == "stream":
        from cputrain.data import lines

        lines.kept(text, root)
    return Prepared(ids, text.note, text, root)


def needs(experiment: Experiment) -> tuple[object, ...]:
    """What `prepare` goes by: experiments that are alike in this share everything it makes."""
    training = experiment.training
    if training.dataset == "paths":
        return (training.dataset, training.rows)
    size = experiment.model.vocab_size - training.is_masked
    return (training.dataset, training.rows, size, training.loader == "stream")
