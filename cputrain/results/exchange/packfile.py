"""One machine's results as one file: gzipped lines of JSON, which are texts with names.

The first line says what it is: {"format": ..., "version": 1, "machine": ..., "members": N}; each
other one is {"name": ..., "text": ...}. There are no folders, links or modes in it, and nothing
is unpacked to a disk to look at it. The same members give the same bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from cputrain.atomic import write_bytes
from cputrain.record import files
from cputrain.results.exchange.bundle import Bundle, Refused, check_name
from cputrain.results.packed import GZIP

SUFFIX = ".cputrain.jsonl.gz"
LARGEST = 64 * 2**20
"""Bytes that are unpacked at most; 470 records have 7 MB."""
LARGEST_RATIO, FROM = 100, 2**20
"""Of what is unpacked over what is read, from so many unpacked bytes on; 470 records have 11."""
MOST = 20_000
"""Members."""
CHUNK = 2**16


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    format: Literal["cputrain results"]
    version: Literal[1]
    machine: Annotated[str, msgspec.Meta(max_length=100)]
    members: Annotated[int, msgspec.Meta(ge=0, le=MOST)]


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each other line."""

    name: str
    text: str


def write(path: Path, machine: str, members: Mapping[str, str]) -> int:
    """Write such a file; it is the old one or the new one. How many bytes it has.

    Raises:
        OSError: it cannot be written.
        Refused: a member has a name that is none.
    """
    lines: list[Head | Member] = [Head("cputrain results", 1, machine, len(members))]
    for name, text in sorted(members.items()):
        check_name(name)
        lines.append(Member(name, text))
    compressor = zlib.compressobj(9, zlib.DEFLATED, GZIP)
    data = b"".join(compressor.compress(msgspec.json.encode(line) + b"\n") for line in lines)
    data += compressor.flush()
    write_bytes(path, data)
    return len(data)


def read(path: Path) -> Bundle:
    """What such a file holds: all of it, or nothing.

    Raises:
        OSError: it cannot be read.
        Refused: it is not as `write` makes it, or too large.
    """
    try:
        data = files.read_bytes(path)
    except files.RecordError as error:
        raise Refused(str(error).split(";")[0]) from error
    lines = _unpacked(data).split(b"\n")
    try:
        head = msgspec.json.decode(lines[0], type=Head)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(f"not a file of bench.py pack of this version ({_short(error)})") from error
    if lines.pop():
        raise Refused("cut off: its last line does not end")
    if len(lines) - 1 != head.members:
        raise Refused(f"it says that it has {head.members} members, and has {len(lines) - 1}")
    members: dict[str, bytes] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            member = msgspec.json.decode(line, type=Member)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise Refused(f"line {number} is no member ({_short(error)})") from error
        check_name(member.name)
        if member.name in members:
            raise Refused(f"it has {member.name} twice")
        members[member.name] = member.text.encode()
    return Bundle(head.machine, members)


def _unpacked(data: bytes) -> bytes:
    """What was compressed, piece by piece, so that a bomb is not unpacked to see that it is one."""
    stream, pieces, size = zlib.decompressobj(GZIP), list[bytes](), 0
    most = max(FROM, min(LARGEST, LARGEST_RATIO * len(data)))
    try:
        rest = data
        while not stream.eof:
            piece = stream.decompress(rest, CHUNK)
            rest = stream.unconsumed_tail
            size += len(piece)
            if size > most:
                raise Refused(f"{len(data)} bytes unpack to more than {most}: no results do that")
            if not piece and not rest:
                break
            pieces.append(piece)
    except zlib.error as error:
        raise Refused(f"not a gzip file, or damaged ({error})") from error
    if not stream.eof:
        raise Refused("cut off: copy the file again")
    if stream.unused_data:
        raise Refused("something follows that was not packed")
    return b"".join(pieces)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:150]
