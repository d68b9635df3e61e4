"""What an experiment trains on, as one feed of micro-batches: made ready, checked, handed out."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cputrain.data import tokens
from cputrain.data.batches import IGNORE, Batch, Causal, Epochs, Examples
from cputrain.data.corpus import DataError
from cputrain.data.prepared import Prepared, prepare
from cputrain.data.targets import Targets
from cputrain.data.tokens import Tokens
from cputrain.data.windows import PackedWindows, Padded, cut_packed, cut_padded
from cputrain.experiment import Experiment

SAMPLE = 64
"""Sequences of which the masked targets are counted."""


def open_feed(experiment: Experiment, root: Path, *, offline: bool) -> Feed:
    """The experiment's feed; what is not kept under `root` yet is made first.

    Raises:
        DataError: data that cannot be used: one line.
    """
    prepared = prepare(experiment, root, offline=offline)
    kind = Streaming if experiment.training.loader == "stream" else Feed
    try:
        return kind(experiment, prepared)
    except ValueError as error:  # nothing to cut
        raise DataError(f"{prepared.tokens.source}: {error}") from error


class Feed:
    """Micro-batches made when they are asked for, from tokens that are in memory.

    The order is drawn from the experiment's seed, anew for each epoch. Documents are packed
    (one stream, cut into sequences) or padded (each document alone; one of more than seq_len + 1
    tokens becomes several sequences, so that no token is lost; free places hold the end of text
    and do not count). Objective "forward" has the batches of "causal".

    Attributes:
        thread_ids: the kernel's ids of the feed's own threads.
        queue_bytes: bytes of batches that the feed may hold ready.
    """

    thread_ids: tuple[int, ...] = ()
    queue_bytes: int = 0
    _is_shuffled = True

    def __init__(self, experiment: Experiment, prepared: Prepared) -> None:
        self._experiment = experiment
        self._tokens = prepared.tokens
        self._note = prepared.note
        training, ids = experiment.training, prepared.tokens
        self._examples = _examples(experiment, ids)
        self._windows: PackedWindows | Padded
        if training.packing == "padded":
            self._windows = Padded(ids.ids, self._examples.length, ids.end)
        else:
            self._windows = PackedWindows(ids.ids, self._examples.length, self._examples.ahead)
        seed = training.seed if self._is_shuffled else None
        self._epochs = Epochs(self._windows, self._examples, training.batch_size, seed)
        self._given = 0

    @property
    def waited_s(self) -> float:
        """Seconds that training waited for batches: none, they are made outside the clock."""
        return 0.0

    def next(self) -> Batch:
        """The next micro-batch: 0, 1, 2 and so on, without end.

        Raises:
            DataError: of a streaming feed, one line.
        """
        self._given += 1
        return self._epochs.batch(self._given - 1)

    def batch(self, number: int) -> Batch:
        """Micro-batch `number`, counted from 0; which one comes next stays as it is."""
        return self._epochs.batch(number)

    def go_to(self, number: int) -> None:
        """Have micro-batch `number`, counted from 0, come next."""
        self._given = number

    @cached_property
    def first(self) -> Batch:
        """Micro-batch 0, for evaluation; `next` gives it too."""
        return self._epochs.batch(0)

    def check(self, batch: Batch) -> None:
        """Compare inputs and targets with the documents; see `targets.Targets.check`.

        Raises:
            DidNotTrain: a target is not what the objective says.
        """
        self._targets.check(batch)

    @cached_property
    def _targets(self) -> Targets:
        mask = self._experiment.model.vocab_size - 1
        return Targets(self._experiment.training, self._tokens, mask)

    def facts(self) -> dict[str, Any]:
        """What is trained on, for `json.dumps`.

        source, fingerprint, note: of the corpus. tokenizer, vocab: and the ids that it has.
        sequences, steps_per_epoch: the last step may reach into the next epoch.
        counted_share: targets that count over tokens computed; of a whole epoch, or of the
        first 64 sequences where tokens are masked. prepared_s: seconds that tokenizing took
        when it was done, None if unknown. queue_bytes: see above.
        """
        training, ids = self._experiment.training, self._tokens
        return {
            "source": ids.source,
            "fingerprint": ids.fingerprint,
            "tokenizer": ids.tokenizer,
            "note": self._note,
            "vocab": ids.vocab,
            "sequences": len(self._epochs),
            "steps_per_epoch": -(-len(self._epochs) // (training.batch_size * training.grad_accum)),
            "counted_share": self._counted_share(),
            "prepared_s": ids.prepared_s,
            "queue_bytes": self.queue_bytes,
        }

    def close(self) -> None:
        """End the feed's threads, if it has any."""

    def _counted_share(self) -> float:
        training = self._experiment.training
        if not training.is_masked:
            return self._windows.n_next / (len(self._windows) * training.seq_len)
        sample = self._epochs.sequences(0, min(SAMPLE, len(self._epochs)))
        counts = int((sample.targets != IGNORE).sum())
        if sample.node_targets is not None:
            counts += int((sample.node_targets != IGNORE).sum())
        return counts / sample.targets.size


class Streaming(Feed):
    """Micro-batches read, tokenized and made by a `loader.Loader` while training goes on.

    They come in the order of the documents, not shuffled, and are the same for every number
    of workers. The tokens in memory are for `check` and `facts`; the loader does not see them.
    """

    _is_shuffled = False

    def __init__(self, experiment: Experiment, prepared: Prepared) -> None:
        from cputrain.data import documents, lines, loader

        super().__init__(experiment, prepared)
        training, text = experiment.training, prepared.corpus
        assert text is not None  # rules refuse made paths
        cut = cut_padded if training.packing == "padded" else cut_packed
        size = experiment.model.vocab_size - training.is_masked
        encode = tokens.tokenizer(text, size, prepared.root).encode
        if training.loader_workers:
            self.queue_bytes = training.loader_queue * self.first.nbytes
        rows = lines.Lines(lines.kept(text, prepared.root), tokens.row_count(text, training.rows))
        self._loader = loader.Loader(
            documents.Documents(rows, lambda row: encode([row])[0], training.loader_workers),
            partial(cut, length=self._examples.length, ahead=self._examples.ahead),
            self._examples,
            training.batch_size,
            training.loader_queue,
        )
        self.thread_ids = self._loader.thread_ids

    def next(self) -> Batch:
        """The next micro-batch, waited for."""
        return self._loader.next()

    @property
    def waited_s(self) -> float:
        """Wall time spent in `next`: all the loading without workers, waiting with them."""
        return self._loader.waited_s

    def close(self) -> None:
        """End and join the loader's threads; quick, also where the queue is full."""
        self._loader.close()


def _examples(experiment: Experiment, ids: Tokens) -> Examples:
    """What makes the objective's batches."""
    training, mask = experiment.training, experiment.model.vocab_size - 1
    if not training.is_masked:
        return Causal(training.seq_len, ids.end)
    if training.objective == "masked":
        from cputrain.data.masked import Masked

        return Masked(training.seq_len, ids.vocab, mask, ids.end, training.seed)
    from cputrain.data.nodes import Nodes

    return Nodes(training.seq_len, ids.vocab, mask, ids.end, training.seed)
