"""Token ids of a corpus, made once and kept under `data/`.

257 ids are the bytes of UTF-8 and end of text. More ids are a byte-level BPE (Sennrich et
al. 2016, on bytes as in GPT-2) trained on the whole corpus with the tokenizers library.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cputrain import atomic
from cputrain.data.batches import END
from cputrain.data.corpus import Corpus, DataError

BYTES = 257
"""Size of the byte vocabulary: 256 bytes and END."""


@dataclass(frozen=True)
class Tokens:
    """A packed stream of token ids.

    Attributes:
        ids: the rows one after another with END after each, [n]; uint16, or int32 where the
            vocabulary is larger than that holds.
        source, fingerprint: the corpus's.
        tokenizer: "bytes" or "bpe", with the size asked for.
        vocab: ids that the tokenizer really has; a model's table may have more rows than that.
    """

    ids: np.ndarray
    source: str
    fingerprint: str
    tokenizer: str
    vocab: int


def token_array(corpus: Corpus, vocab_size: int, rows: int | None, root: Path) -> Tokens:
    """The tokens of the first `rows` rows, None being all, from `root` where they are kept there.

    A corpus too small for `vocab_size` entries gives fewer: `Tokens.vocab` says how many.

    Raises:
        DataError: a vocabulary smaller than the bytes, more rows than the corpus has, a
            damaged file, or a folder that cannot be written.
    """
    if vocab_size < BYTES:
        raise DataError(f"vocab_size = {vocab_size}: the byte vocabulary has {BYTES}")
    rows = len(corpus.rows) if rows is None else rows
    if not 1 <= rows <= len(corpus.rows):
        raise DataError(f"rows = {rows}: the corpus ({corpus.source}) has {len(corpus.rows)}")
    tokenizer = "bytes" if vocab_size == BYTES else f"bpe-{vocab_size}"
    path = root / f"tokens-{corpus.fingerprint[:12]}-{tokenizer}-{rows}.npy"
    facts_path = path.with_suffix(".json")
    try:
        if path.exists() and facts_path.exists():
            ids, vocab = _kept(path, facts_path)
        else:
            ids, vocab = _made(corpus, vocab_size, rows, root)
            _keep(path, facts_path, ids, vocab)
    except OSError as error:
        raise DataError(f"{error.filename or path}: {error.strerror or error}") from error
    return Tokens(ids, corpus.source, corpus.fingerprint, tokenizer, vocab)


def _keep(path: Path, facts_path: Path, ids: np.ndarray, vocab: int) -> None:
    buffer = io.BytesIO()
    np.save(buffer, ids)
    data = buffer.getvalue()
    atomic.write_bytes(path, data)
    atomic.write_json(facts_path, {"sha256": hashlib.sha256(data).hexdigest(), "vocab": vocab})


def _kept(path: Path, facts_path: Path) -> tuple[np.ndarray, int]:
    data = path.read_bytes()
    try:
        facts = json.loads(facts_path.read_bytes())
        vocab, digest = int(facts["vocab"]), facts["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{facts_path} is damaged: not the JSON written; delete it") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise DataError(f"{path} is damaged: it does not match its SHA-256; delete it")
    ids: np.ndarray = np.load(io.BytesIO(data), allow_pickle=False)
    return ids, vocab


def _made(corpus: Corpus, vocab_size: int, rows: int, root: Path) -> tuple[np.ndarray, int]:
    texts = corpus.rows[:rows]
    kind = np.uint16 if vocab_size <= 1 << 16 else np.int32
    if vocab_size == BYTES:
        pieces = [np.frombuffer(text.encode(), np.uint8) for text in texts]
        vocab = BYTES
    else:
        from cputrain.data import bpe

        pieces, vocab = bpe.encode(corpus, texts, vocab_size, root)
    end = np.array([END])
    packed = np.concatenate([part for piece in pieces for part in (piece, end)])
    return packed.astype(kind), vocab
