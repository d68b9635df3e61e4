"""Documents of somebody's own files, one after another, whatever the files' size.

Text (anything else than the next two): documents are separated by empty lines, and cut where they
get long. JSON lines (.jsonl, .ndjson): each line is a text, or an object with one under "text".
Parquet (.parquet): each row's column "text". Text is UTF-8.
"""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from cputrain.data.corpus import DataError

FIELD = "text"
LONGEST = 1 << 16
"""Bytes of text from which a document of a text file is cut; it may be a line longer."""
LONGEST_LINE = 1 << 24
"""Bytes of a line of JSON."""
JSON, PARQUET = (".jsonl", ".ndjson"), (".parquet",)


def documents(path: Path) -> Iterator[str]:
    """The documents of a file that are not empty, in their order.

    Raises:
        DataError: it cannot be read, or something in it is no text: names file and line.
    """
    kind = _parquet if path.suffix in PARQUET else _json if path.suffix in JSON else _text
    try:
        yield from (text for text in kind(path) if text.strip())
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error


def of_all(files: list[str]) -> Iterator[str]:
    """The documents of several files, one file after another. Raises DataError as `documents`."""
    return itertools.chain.from_iterable(documents(Path(name)) for name in files)


def _text(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    pieces: list[str] = []
    size, line, ended = 0, 1, True
    with path.open("rb") as file:
        while data := file.readline(LONGEST):
            is_blank = ended and not data.strip()
            try:
                pieces.append(decoder.decode(data))
            except UnicodeDecodeError as error:
                raise _no_text(path, line, f"not UTF-8 ({error.reason})") from error
            size += len(data)
            ended = data.endswith(b"\n")
            line += ended
            if is_blank or size >= LONGEST:
                yield "".join(pieces)
                pieces, size = [], 0
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise _no_text(path, line, f"not UTF-8 ({error.reason})") from error
    yield "".join(pieces)


def _json(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        number = 0
        while data := file.readline(LONGEST_LINE):
            number += 1
            if len(data) == LONGEST_LINE and not data.endswith(b"\n"):
                raise _no_text(path, number, f"longer than {LONGEST_LINE >> 20} MiB")
            if not data.strip():
                continue
            try:
                row = json.loads(data.decode())
            except UnicodeDecodeError as error:
                raise _no_text(path, number, f"not UTF-8 ({error.reason})") from error
            except (ValueError, RecursionError) as error:
                raise _no_text(path, number, "not JSON") from error
            text = row.get(FIELD) if isinstance(row, dict) else row
            if not isinstance(text, str):
                raise _no_text(path, number, f'no text, nor an object with one under "{FIELD}"')
            try:
                text.encode()
            except UnicodeEncodeError as error:  # half of a surrogate pair
                raise _no_text(path, number, f"not Unicode ({error.reason})") from error
            yield text


def _parquet(path: Path) -> Iterator[str]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
        if FIELD not in table.schema_arrow.names:
            names = ", ".join(table.schema_arrow.names)
            raise DataError(f'{path}: no column "{FIELD}" among {names}')
        number = 0
        for batch in table.iter_batches(batch_size=256, columns=[FIELD], use_threads=False):
            for text in batch.column(0).to_pylist():
                number += 1
                if not isinstance(text, str):
                    raise DataError(f"{path}: row {number} is no text: {type(text).__name__}")
                yield text
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {' '.join(str(error).split())[:200]}") from error


def _no_text(path: Path, line: int, why: str) -> DataError:
    return DataError(f"{path}: line {line}: {why}")
