"""Records as JSON: written whole and finite, read strictly, and from regular files alone."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from cputrain.atomic import write_bytes

LARGEST = 64 * 2**20
"""Bytes of a file that is read; a record of three sessions has some 100 kB."""

T = TypeVar("T")


class RecordError(ValueError):
    """A record that cannot be written or read: one line that names the field."""


def encode(value: object) -> bytes:
    """JSON in one line.

    Raises:
        RecordError: a number in it is not finite, or something is no JSON; naming where.
    """
    return msgspec.json.encode(plain(value))


def plain(value: object) -> Any:
    """The value in the types that JSON has.

    Raises:
        RecordError: see `encode`.
    """
    try:
        builtins = msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)
        _check(builtins, "")
    except (TypeError, UnicodeError, RecursionError) as error:
        raise RecordError(f"cannot be written as JSON: {error}") from error
    return builtins


def write(path: Path, value: object) -> None:
    """Write a record as indented JSON; the file is the old one or the new one.

    Raises:
        OSError: it cannot be written.
        RecordError: see `encode`.
    """
    write_bytes(path, msgspec.json.format(encode(value), indent=1) + b"\n")


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """What a regular file holds; links are not followed, and nothing is waited for.

    Raises:
        OSError: it is not there or may not be read.
        RecordError: it is no regular file, or too large to be a record.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise RecordError("not a regular file; delete it and run the cell again") from error
        raise
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
        os.close(handle)
        reason = "too large for a record" if stat.S_ISREG(status.st_mode) else "not a regular file"
        raise RecordError(f"{reason}; delete it and run the cell again")
    with os.fdopen(handle, "rb") as file:
        return file.read()


def decode(data: bytes, kind: type[T], schema: int) -> T:
    """A record of that kind and schema, all of it checked.

    Raises:
        RecordError: it is none; one line that names the field.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise RecordError(_why(data, kind, schema, error)) from error


def read(path: Path, kind: type[T], schema: int) -> T:
    """`decode` of a file. Raises OSError and RecordError."""
    return decode(read_bytes(path), kind, schema)


def _why(data: bytes, kind: type[Any], schema: int, error: Exception) -> str:
    """Why the data are no record. Python's own reader takes more, so that it finds the field."""
    again = "delete it and run the cell again"
    try:
        content = json.loads(data)
        written = content.get("schema") if isinstance(content, dict) else schema
        if written not in _readable(kind, schema):
            if type(written) is int and written < schema:
                return "written by an earlier version: run the suite again, or delete it"
            return f"schema {written!r:.20}, and this version reads {schema}: {again}"
        _check(content, "")
        msgspec.convert(content, kind)
    except msgspec.ValidationError as invalid:
        return f"not a run record ({line(invalid)}); {again}"
    except RecordError as invalid:
        return f"{invalid}; {again}"
    except RecursionError:
        return f"nested too deeply for a run record; {again}"
    except ValueError:  # also what is not UTF-8
        return f"not JSON, perhaps cut off; {again}"
    return f"not a run record ({line(error)}); {again}"


def _readable(kind: type[Any], schema: int) -> tuple[int, ...]:
    """The schemas that are read of a kind: those that its field says."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return get_args(types.get("schema")) or (schema,)


def line(error: Exception) -> str:
    """What an error says, in one line of 300 letters at most."""
    return " ".join(str(error).split())[:300]


def _plain(value: Any) -> Any:
    """Numbers and words of subclasses, as NumPy's, as what they are; paths as text."""
    for kind in (float, int, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} {value!r:.60}")


def _check(value: Any, where: str) -> None:
    """Raise RecordError for the first number that is not finite, or word that is no UTF-8."""
    if isinstance(value, float) and not math.isfinite(value):
        raise RecordError(f"{where} = {value}: the number is not finite")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise RecordError(f"{where} is no text: {error.reason}") from error
    elif isinstance(value, dict):
        for name, item in value.items():
            _check(name, f"a name in {where or 'it'}")
            _check(item, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check(item, f"{where}[{number}]")
