"""Byte-level BPE, trained on a corpus and kept under `data/`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cputrain import atomic
from cputrain.data.batches import END
from cputrain.data.corpus import Corpus, DataError


def encode(
    corpus: Corpus, texts: Sequence[str], vocab_size: int, root: Path
) -> tuple[list[np.ndarray], int]:
    """Token ids of each text, and how many ids there are in all, END among them.

    The tokenizer is trained on all of `corpus`, whatever part of it `texts` is. Its ids 0 to
    255 are single bytes; the merges move up by one to leave END its place. No text can spell
    END.

    Raises:
        DataError: the kept tokenizer is damaged.
    """
    # Its threads would outlive the call, in a process that is being measured.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    path = root / f"bpe-{corpus.fingerprint[:12]}-{vocab_size}.json"
    if path.exists():
        try:
            tokenizer = Tokenizer.from_str(path.read_text())
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
    encoded = [np.array(text.ids, np.int64) for text in tokenizer.encode_batch(list(texts))]
    return [ids + (ids >= END) for ids in encoded], tokenizer.get_vocab_size() + 1
