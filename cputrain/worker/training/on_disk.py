"""Tokens of somebody's own files: made once, and kept on disk."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from cputrain import atomic
from cputrain.data import tokenizer_file
from cputrain.data.alone import alone
from cputrain.data.batches import END
from cputrain.data.corpus import DataError
from cputrain.data.tokenizer_file import FromFile
from cputrain.data.tokens import Tokens
from cputrain.worker.training import own_tokenizer, rows
from cputrain.worker.training.ids_file import IdsOnDisk, IdsWriter
from cputrain.worker.training.making import Making, Say, silent

TRAIN, REST, FACTS = "train.tokens", "validation.tokens", "facts.json"
LOCK = ".own.lock"
END_IDS = np.array([END])


def kept(
    files: list[str],
    vocab_size: int,
    share: float,
    seed: int,
    root: Path,
    given: FromFile | None = None,
    say: Say = silent,
) -> tuple[Tokens, Tokens, dict[str, Any]]:
    """Tokens to train on, tokens to validate, and facts on both; made where they are not kept.

    The facts have the text of the tokenizer's file as "tokenizer_file".

    Of each 1 / share documents one is held back, drawn by the seed.

    Args:
        files: absolute paths.
        vocab_size: ids at most; see `own_tokenizer.tokenizer`.
        share: of the documents, held back.
        seed: draws them.
        root: the data folder.
        given: the tokenizer, in place of one that is made here.
        say: is told how far the making has come.

    Raises:
        DataError: a file that cannot be read or used, or a folder that cannot be written.
    """
    try:
        stats = [Path(name).stat() for name in files]
        versions = [(n, s.st_size, s.st_mtime_ns) for n, s in zip(files, stats, strict=True)]
        key = [versions, vocab_size, share, seed]
        key += [] if given is None else [tokenizer_file.digest(given.file())]
        folder = root / f"own-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}"
        if not _is_whole(folder):
            _make(files, vocab_size, share, seed, folder, given, say)
        facts = json.loads((folder / FACTS).read_bytes())
        if not (folder / tokenizer_file.FILE).exists():  # an earlier version made the tokens
            made = given or own_tokenizer.tokenizer(files, vocab_size, root)
            atomic.write_text(folder / tokenizer_file.FILE, made.file())
        facts["tokenizer_file"] = (folder / tokenizer_file.FILE).read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{error.filename or root}: {error.strerror or error}") from error
    dtype = _dtype(vocab_size)
    train, rest = (
        Tokens(
            ids=cast(np.ndarray, IdsOnDisk(folder / name, dtype)),
            source=facts["source"],
            fingerprint=facts["fingerprint"],
            tokenizer=facts["tokenizer"],
            vocab=facts["vocab"],
            prepared_s=None,
        )
        for name in (TRAIN, REST)
    )
    return train, rest, facts


def _is_whole(folder: Path) -> bool:
    return all((folder / name).exists() for name in (TRAIN, REST, FACTS))


def _dtype(vocab_size: int) -> Any:
    return np.uint16 if vocab_size <= 1 << 16 else np.int32


def _make(
    files: list[str],
    vocab_size: int,
    share: float,
    seed: int,
    folder: Path,
    given: FromFile | None,
    say: Say,
) -> None:
    """Write the tokens into a folder aside, which then takes its place."""
    aside, handle = _aside(folder)
    try:
        encoder = given or own_tokenizer.tokenizer(files, vocab_size, folder.parent)
        is_bytes = encoder.file() == tokenizer_file.of_bytes()
        digest, counts, making = hashlib.sha256(), [0, 0], Making(files, say)
        dtype = _dtype(vocab_size)
        with (aside / TRAIN).open("wb") as train, (aside / REST).open("wb") as rest:
            writers = IdsWriter(train, dtype), IdsWriter(rest, dtype)
            for text, is_rest in drawn(rows.of_all(files), round(1 / share), seed):
                data = text.encode()
                digest.update(b"%d:" % len(data))
                digest.update(data)
                counts[is_rest] += 1
                making.add(len(data))
                if is_bytes:  # as `tokens.Bytes`, five times as fast
                    writers[is_rest].add(np.frombuffer(data, np.uint8), END_IDS)
                else:
                    writers[is_rest].add(*encoder.encode([text]))
            for writer in writers:
                writer.flush()
        if not all(counts):
            raise DataError(
                f"{', '.join(files)}: fewer than two documents, of which one is for validation: "
                "empty lines separate them"
            )
        name = f"bpe-{vocab_size if given is None else given.vocab}"
        facts = {
            "source": ", ".join(Path(file).name for file in files),
            "fingerprint": digest.hexdigest(),
            "tokenizer": "bytes" if is_bytes else name,
            "vocab": encoder.vocab,
            "documents": counts,
        }
        atomic.write_text(aside / tokenizer_file.FILE, encoder.file())
        atomic.write_json(aside / FACTS, facts)
        aside.chmod(0o755)
        _put(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # there is none where all went well
        if handle is not None:
            os.close(handle)


def _aside(folder: Path) -> tuple[Path, int | None]:
    """A new folder beside it, and its lock; those of processes that were killed are removed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.parent / LOCK):  # a new one is nobody's until it is locked
        for left in folder.parent.glob(".own-*"):
            if (handle := _held(left)) is not None:  # nobody holds it
                shutil.rmtree(left, ignore_errors=True)
                os.close(handle)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        return aside, _held(aside)


def _put(aside: Path, folder: Path) -> None:
    """Give whole tokens their place, unless another process has made the same ones meanwhile."""
    try:
        aside.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not _is_whole(folder):  # somebody has taken some of its files
            shutil.rmtree(folder, ignore_errors=True)
            aside.rename(folder)


def _held(folder: Path) -> int | None:
    """The folder, opened and locked until it is closed; None where another process has it.

    None too where another process has just put it in its place, or deleted it.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def drawn(documents: Iterable[str], group: int, seed: int) -> Iterator[tuple[str, bool]]:
    """Each document, and whether it is held back: one of each `group`, drawn by the seed.

    Of fewer documents than a group one is held back, where there are two.
    """
    waiting = iter(documents)
    number = 0
    while texts := list(itertools.islice(waiting, group)):
        among = len(texts) if number == 0 else group
        chosen = int(np.random.default_rng([seed, number]).integers(among)) if among > 1 else None
        yield from ((text, place == chosen) for place, text in enumerate(texts))
        number += 1
