"""Byte-level BPE, trained on a corpus and kept under `data/`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cputrain import atomic
from cputrain.data import tokenizer_file
from cputrain.data.batches import END
from cputrain.data.corpus import Corpus, DataError


class Bpe:
    """A tokenizer: kept under `root`, or trained on all of `corpus` and kept then.

    Its ids 0 to 255 are single bytes; the merges move up by one to leave END its place. No
    text can spell END.

    Attributes:
        vocab: ids that there are, END among them; fewer than `vocab_size` where the corpus
            has no more to merge.

    Raises:
        DataError: the kept tokenizer is damaged.
    """

    def __init__(self, corpus: Corpus, vocab_size: int, root: Path) -> None:
        # Its threads would outlive the call, in a process that is being measured.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        path = root / f"bpe-{corpus.fingerprint[:12]}-{vocab_size}.json"
        if path.exists():
            try:
                tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
            except Exception as error:  # the library raises nothing narrower
                raise DataError(f"{path} is damaged: not a tokenizer; delete it") from error
        else:
            tokenizer = Tokenizer(models.BPE())
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            trainer = trainers.BpeTrainer(
                vocab_size=vocab_size - 1,
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            )
            tokenizer.train_from_iterator(corpus.rows, trainer)
            atomic.write_text(path, tokenizer.to_str())
        self._tokenizer = tokenizer
        self.vocab: int = tokenizer.get_vocab_size() + 1

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of each text and END. Several threads may do this at a time."""
        # `encode` of the library keeps other threads waiting, `encode_batch` does not.
        encoded = [np.array(text.ids, np.int64) for text in self._tokenizer.encode_batch([*texts])]
        return [np.append(ids + (ids >= END), END) for ids in encoded]

    def file(self) -> str:
        """See `tokens.Tokenizer`."""
        return tokenizer_file.of_bpe(self._tokenizer.to_str())
