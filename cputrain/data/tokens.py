"""Token ids of a corpus, made once and kept under `data/`.

257 ids are the bytes of UTF-8 and end of text. More ids are a byte-level BPE (Sennrich et
al. 2016, on bytes as in GPT-2) trained on the whole corpus with the tokenizers library.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from cputrain import atomic
from cputrain.data import tokenizer_file
from cputrain.data.batches import END
from cputrain.data.corpus import Corpus, DataError

BYTES = 257
"""Size of the byte vocabulary: 256 bytes and END."""


@dataclass(frozen=True)
class Tokens:
    """A packed stream of token ids.

    Attributes:
        ids: the documents one after another with `end` after each, [n]; uint16, or int32 where
            the vocabulary is larger than that holds.
        source, fingerprint: the corpus's.
        tokenizer: "bytes", "bpe" with the size asked for, or "paths".
        vocab: ids that the tokenizer really has; a model's table may have more rows than that.
        prepared_s: seconds that tokenizing took when it was done, with one thread and without
            training the tokenizer; None where an earlier version did it and did not say.
        end: id after each document.
    """

    ids: np.ndarray
    source: str
    fingerprint: str
    tokenizer: str
    vocab: int
    prepared_s: float | None
    end: int = END


class Tokenizer(Protocol):
    """Turns texts into ids.

    Attributes:
        vocab: ids that there are, END among them.
    """

    vocab: int

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of each text and END. Several threads may do this at a time."""

    def file(self) -> str:
        """The text of its file: see `tokenizer_file`."""


class Bytes:
    """The bytes of UTF-8."""

    vocab = BYTES

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """See `Tokenizer`."""
        encoded = [np.frombuffer(text.encode(), np.uint8).astype(np.int64) for text in texts]
        return [np.append(ids, END) for ids in encoded]

    def file(self) -> str:
        """See `Tokenizer`."""
        return tokenizer_file.of_bytes()


def tokenizer(corpus: Corpus, vocab_size: int, root: Path) -> Tokenizer:
    """The tokenizer of at most `vocab_size` ids: bytes, or a BPE that is kept under `root`.

    Raises:
        DataError: a vocabulary smaller than the bytes, or a damaged BPE.
    """
    if vocab_size < BYTES:
        raise DataError(f"vocab_size = {vocab_size}: the byte vocabulary has {BYTES}")
    if vocab_size == BYTES:
        return Bytes()
    from cputrain.data.bpe import Bpe

    return Bpe(corpus, vocab_size, root)


def token_array(corpus: Corpus, vocab_size: int, rows: int | None, root: Path) -> Tokens:
    """The tokens of the first `rows` rows, None being all, from `root` where they are kept there.

    A corpus too small for `vocab_size` entries gives fewer: `Tokens.vocab` says how many.

    Raises:
        DataError: a vocabulary smaller than the bytes, more rows than the corpus has, a
            damaged file, or a folder that cannot be written.
    """
    if vocab_size < BYTES:
        raise DataError(f"vocab_size = {vocab_size}: the byte vocabulary has {BYTES}")
    rows = row_count(corpus, rows)
    name = "bytes" if vocab_size == BYTES else f"bpe-{vocab_size}"
    path = root / f"tokens-{corpus.fingerprint[:12]}-{name}-{rows}.npy"
    facts_path = path.with_suffix(".json")
    try:
        if path.exists() and facts_path.exists():
            ids, vocab, seconds = _kept(path, facts_path)
        else:
            ids, vocab, seconds = _made(corpus, vocab_size, rows, root)
            _keep(path, facts_path, ids, vocab, seconds)
    except OSError as error:
        raise DataError(f"{error.filename or path}: {error.strerror or error}") from error
    return Tokens(ids, corpus.source, corpus.fingerprint, name, vocab, seconds)


def row_count(corpus: Corpus, rows: int | None) -> int:
    """How many rows `rows` are, None being all.

    Raises:
        DataError: more than the corpus has, or none.
    """
    rows = len(corpus.rows) if rows is None else rows
    if not 1 <= rows <= len(corpus.rows):
        raise DataError(f"rows = {rows}: the corpus ({corpus.source}) has {len(corpus.rows)}")
    return rows


def _keep(path: Path, facts_path: Path, ids: np.ndarray, vocab: int, seconds: float | None) -> None:
    buffer = io.BytesIO()
    np.save(buffer, ids)
    data = buffer.getvalue()
    atomic.write_bytes(path, data)
    digest = hashlib.sha256(data).hexdigest()
    atomic.write_json(facts_path, {"sha256": digest, "vocab": vocab, "prepared_s": seconds})


def _kept(path: Path, facts_path: Path) -> tuple[np.ndarray, int, float | None]:
    data = path.read_bytes()
    try:
        facts = json.loads(facts_path.read_bytes())
        vocab, digest, seconds = int(facts["vocab"]), facts["sha256"], facts.get("prepared_s")
        seconds = None if seconds is None else float(seconds)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{facts_path} is damaged: not the JSON written; delete it") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise DataError(f"{path} is damaged: it does not match its SHA-256; delete it")
    ids: np.ndarray = np.load(io.BytesIO(data), allow_pickle=False)
    return ids, vocab, seconds


def _made(
    corpus: Corpus, vocab_size: int, rows: int, root: Path
) -> tuple[np.ndarray, int, float | None]:
    made = tokenizer(corpus, vocab_size, root)
    start = time.perf_counter()
    packed = np.concatenate(made.encode(corpus.rows[:rows]))
    ids = packed.astype(np.uint16 if vocab_size <= 1 << 16 else np.int32)
    return ids, made.vocab, time.perf_counter() - start
