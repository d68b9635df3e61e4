"""All records of a machine in one file, output/<machine>/records.jsonl.gz, written and read.

A line for each record, in the order of their paths: {"path": ..., "record": ...}. The path is
relative to output/<machine>; the record is its own JSON without the spaces. The same records give
the same bytes: gzip's header has neither a date nor a name.
"""

from __future__ import annotations

import functools
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import msgspec

from cputrain.atomic import write_bytes
from cputrain.record import files
from cputrain.results.problem import Problem

FILE = "records.jsonl.gz"
LARGEST = 256 * 2**20
"""Bytes that are unpacked; 327 cells of one session with their references have 7 MB."""
MOST_PROBLEMS = 10
"""Lines of a file that are named; of more it is said how many."""
NAMES = ("run.json", "references.json", "parts.json", "altered.json")
SHAPE = re.compile(
    r"(?:quick/)?(?!quick/)[^\W\d]\w*/(?!\.\.?/)[A-Za-z0-9._+-]+/"
    rf"(?:{'|'.join(map(re.escape, NAMES))})"
)
"""Paths that records have: suite/cell/file, those of quick sweeps below quick/."""
LONGEST = 600
"""Characters of a path."""
GZIP = zlib.MAX_WBITS | 16
AGAIN = "copy the file again, or delete it"


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One record: where it lay below output/<machine>, and its JSON as it is."""

    path: str
    record: msgspec.Raw


@dataclass(frozen=True)
class Pack:
    """What such a file holds.

    Attributes:
        records: JSON by path relative to output/<machine>; the paths are checked, the records are
            not.
        problems: of the file or of lines.
    """

    records: Mapping[str, bytes] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def write(path: Path, records: Mapping[str, bytes]) -> None:
    """Write such a file; it is the old one or the new one.

    Args:
        path: of the file.
        records: JSON by path relative to output/<machine>.

    Raises:
        OSError: it cannot be written.
        ValueError: see `encode`.
    """
    write_bytes(path, encode(records))


def encode(records: Mapping[str, bytes]) -> bytes:
    """What such a file holds.

    Raises:
        ValueError: a path is no record's, or a record no JSON; the message names it.
    """
    lines = []
    for place, record in sorted(records.items()):
        _check(place)
        try:
            line = Line(place, msgspec.Raw(plain(record)))
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        lines.append(msgspec.json.encode(line) + b"\n")
    compressor = zlib.compressobj(9, zlib.DEFLATED, GZIP)
    return compressor.compress(b"".join(lines)) + compressor.flush()


def plain(record: bytes) -> bytes:
    """JSON in one line, without spaces; its numbers and words are untouched.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        msgspec.json.decode(record)
        return msgspec.json.format(record, indent=-1)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from error


def read(path: Path) -> Pack:
    """What such a file holds; nothing where there is none, and a problem where it is broken.

    Of a file that is cut off the whole lines are used. Of one whose checksum is wrong nothing is:
    what it says may be another number. The last one read is kept in memory until it changes.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return Pack()
    except OSError as error:
        return Pack(problems=(Problem(path, f"cannot be read: {error.strerror}"),))
    return _read(path, status.st_ino, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=1)
def _read(path: Path, *_unchanged: int) -> Pack:
    try:
        content, broken = _unpacked(files.read_bytes(path))
    except OSError as error:
        return Pack(problems=(Problem(path, f"cannot be read: {error.strerror}"),))
    except files.RecordError as error:
        return Pack(problems=(Problem(path, str(error)),))
    except zlib.error as error:
        return Pack(problems=(Problem(path, f"damaged, nothing of it is used ({error}); {AGAIN}"),))
    lines = content.split(b"\n")
    if broken is not None:
        del lines[-1]  # half a record
    records: dict[str, bytes] = {}
    problems = [] if broken is None else [Problem(path, f"{broken}; {AGAIN}")]
    wrong = list(_into(records, lines))
    more = len(wrong) - MOST_PROBLEMS
    problems += [Problem(path, reason) for reason in wrong[:MOST_PROBLEMS]]
    if more > 0:
        problems.append(Problem(path, f"and {more} more lines that are no record"))
    return Pack(MappingProxyType(records), tuple(problems))


def _unpacked(data: bytes) -> tuple[bytes, str | None]:
    """What was compressed, and why it is not all of it; None where it is.

    Raises:
        zlib.error: it is no gzip file, or its checksum is wrong.
    """
    stream = zlib.decompressobj(GZIP)
    content = stream.decompress(data, LARGEST)
    if stream.eof:
        return content, "something follows that was not packed" if stream.unused_data else None
    if len(content) >= LARGEST:
        return content, f"unpacks to more than {LARGEST >> 20} MiB; the rest is not read"
    return content, "cut off; what lies before is used"


def _into(records: dict[str, bytes], lines: list[bytes]) -> Iterator[str]:
    """Add each line's record; yield why not, of those that have none."""
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            parsed = msgspec.json.decode(line, type=Line)
            _check(parsed.path)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            yield f"line {number} is no record ({' '.join(str(error).split())[:200]})"
            continue
        if parsed.path in records:
            yield f"line {number} has {parsed.path} once more; the first one is used"
            continue
        records[parsed.path] = bytes(parsed.record)


def is_place(place: str) -> bool:
    """Whether a text is a path that a record has, relative to output/<machine>."""
    return len(place) <= LONGEST and SHAPE.fullmatch(place) is not None


def _check(place: str) -> None:
    """Raise ValueError where it is no path of a record."""
    if not is_place(place):
        raise ValueError(f"path {os.fsencode(place[:100])!r} is no record's")
