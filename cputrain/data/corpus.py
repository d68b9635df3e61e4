"""The text that is trained on: fetched once, kept under `data/`, checked on every load.

It comes from the hub; where that cannot be reached, from the Python documentation that
every interpreter carries, and one line says so.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import platform
from dataclasses import dataclass
from pathlib import Path

from cputrain import atomic
from cputrain.data.alone import alone

FILE, LOCK = "corpus.json", ".corpus.lock"
ROWS = 1000
"""Rows of the built-in corpus, and the fewest that the hub's data set must have."""


class DataError(RuntimeError):
    """Data that cannot be used: one line says what, where, and what to do."""


@dataclass(frozen=True)
class Corpus:
    """Rows of text.

    Attributes:
        rows: the texts.
        source: where they come from.
        fingerprint: SHA-256 over the rows, hexadecimal.
        note: one line where the hub was wanted and not used, at the time it was tried.
    """

    rows: tuple[str, ...]
    source: str
    fingerprint: str
    note: str | None = None


def fingerprint(rows: tuple[str, ...]) -> str:
    """SHA-256 over the rows and where each one ends, hexadecimal."""
    digest = hashlib.sha256()
    for row in rows:
        data = row.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def load(root: Path, *, offline: bool) -> Corpus:
    """The corpus kept under `root`; where there is none, it is made and kept.

    What is kept stays, also where the hub can be reached later: figures stay comparable. One
    process makes it; others wait and take the same.

    Args:
        root: the data folder.
        offline: never touch the network.

    Raises:
        DataError: the kept corpus is damaged, or `root` cannot be read or written.
    """
    path = root / FILE
    try:
        if path.exists():
            return _kept(path)
        atomic.make_folder(root)
        with alone(root / LOCK):
            if path.exists():  # another process has made it meanwhile
                return _kept(path)
            rows, source, note = _made(root, offline)
            corpus = Corpus(rows, source, fingerprint(rows), note)
            content = {"source": source, "fingerprint": corpus.fingerprint, "rows": rows}
            atomic.write_json(path, content)
    except OSError as error:
        raise DataError(f"{error.filename or path}: {error.strerror or error}") from error
    return corpus


def _kept(path: Path) -> Corpus:
    try:
        content = json.loads(path.read_bytes())
        rows, source = tuple(content["rows"]), content["source"]
        if not rows or not all(type(row) is str for row in (source, *rows)):
            raise DataError("it does not hold rows of text")
        if fingerprint(rows) != content["fingerprint"]:
            raise DataError("its rows do not match its fingerprint")
    except (ValueError, KeyError, TypeError) as error:
        reason = f"it is not the JSON that was written ({type(error).__name__})"
        raise DataError(f"{path} is damaged: {reason}; delete it") from error
    except DataError as error:
        raise DataError(f"{path} is damaged: {error}; delete it") from error
    return Corpus(rows, source, content["fingerprint"])


def _made(root: Path, offline: bool) -> tuple[tuple[str, ...], str, str | None]:
    """Rows, source and note of a new corpus."""
    # Needed the first time only: a worker that finds its data kept does not pay for it.
    from cputrain.data import hub

    if offline:
        note = "offline: the hub was not asked"
    else:
        try:
            rows, source = hub.fetch(root, least=ROWS)
            return rows, source, None
        except hub.HubError as error:
            note = str(error)
    rows, source = built_in()
    return rows, source, f"{note}; training on {source} instead"


def built_in() -> tuple[tuple[str, ...], str]:
    """The text of `pydoc_data.topics` in 1 000 rows of whole lines, and its source."""
    from pydoc_data import topics

    texts: dict[str, str] = topics.topics
    lines = "\n".join(texts[name] for name in sorted(texts)).splitlines(keepends=True)
    cuts = [len(lines) * i // ROWS for i in range(ROWS + 1)]
    rows = tuple("".join(lines[a:b]) for a, b in itertools.pairwise(cuts))
    return rows, f"pydoc_data.topics of Python {platform.python_version()}"
