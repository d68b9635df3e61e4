"""Files of one's own that `--data` names: looked at before anything starts."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.worker.training.rows import PARQUET

LOOKED_AT = 1 << 16
"""Bytes at the start of a file that have to be UTF-8 here; the worker reads all of them."""
PARQUET_END = b"PAR1"
KINDS = "text and JSON lines (.jsonl, .ndjson) are UTF-8, Parquet ends in .parquet"


def checked(path: Path) -> str:
    """The path, absolute and without links.

    Raises:
        UsageError: there is nothing to read, it does not begin as what it has to be, or no record
            can hold its name.
    """
    try:
        kind = path.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # a pipe may wait for ever
            raise UsageError(f"--data {path}: no plain file, which is read again and again")
        with path.open("rb") as file:
            start = file.read(LOOKED_AT)
            is_all = not file.read(1)
            file.seek(-min(len(PARQUET_END), len(start)), os.SEEK_END)
            end = file.read()
    except OSError as error:
        raise UsageError(f"--data {path}: {error.strerror}") from error
    if not start:
        raise UsageError(f"--data {path}: empty")
    whole = path.resolve()  # the worker is given this one, and goes by its suffix
    if whole.suffix not in PARQUET:
        _check_text(whole, start, is_all)
    elif end != PARQUET_END:
        raise UsageError(
            f"--data {whole}: cut off or no Parquet; a text's name does not end in .parquet"
        )
    return paths.recordable(whole)


def _check_text(path: Path, start: bytes, is_all: bool) -> None:
    """Raise UsageError, naming the line, where it is not UTF-8; the last letter may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=is_all)
    except UnicodeDecodeError as error:
        line = 1 + start.count(b"\n", 0, error.start)
        raise UsageError(
            f"--data {path}: line {line}: not UTF-8 ({error.reason}): {KINDS}"
        ) from error
