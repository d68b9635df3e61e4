"""The tokenizer of somebody's own files."""

from __future__ import annotations

from pathlib import Path

from cputrain.data import tokens
from cputrain.data.corpus import Corpus, fingerprint
from cputrain.worker.training import rows

SAMPLE = 1 << 25
"""Bytes of text that a BPE is trained on: the first ones."""


def tokenizer(files: list[str], vocab_size: int, root: Path) -> tokens.Tokenizer:
    """Bytes, or a BPE of the first `SAMPLE` bytes of text, which is kept under `root`.

    Raises:
        DataError: a file that cannot be read, or a vocabulary smaller than the bytes.
    """
    if vocab_size <= tokens.BYTES:
        return tokens.tokenizer(Corpus((), "", ""), vocab_size, root)
    texts, size = [], 0
    for text in rows.of_all(files):
        texts.append(text)
        size += len(text.encode())
        if size >= SAMPLE:
            break
    sample = Corpus(tuple(texts), "the first texts", fingerprint(tuple(texts)))
    return tokens.tokenizer(sample, vocab_size, root)
