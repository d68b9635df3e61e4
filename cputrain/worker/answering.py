"""How a worker answers its launcher: lines of JSON on one descriptor."""

from __future__ import annotations

import fcntl
import os
import traceback

from cputrain.data.corpus import DataError
from cputrain.record import answers
from cputrain.record.answers import Failed
from cputrain.record.part import Part


def answer(descriptor: int, message: Part) -> None:
    """Write one line; those of several processes on one pipe do not mix.

    Raises:
        files.RecordError: a number in it is not finite.
    """
    data = answers.encode(message)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def failure(error: Exception, who: str = "") -> Failed:
    """The answer that says why a worker gives up; the traceback goes to standard error.

    Args:
        error: what ended it.
        who: put before the reason, where there are several.
    """
    traceback.print_exception(error)
    first_line = str(error).strip().split("\n")[0]
    kind = "" if isinstance(error, DataError) else f"{type(error).__name__}: "
    reason = f"{who}{kind}{first_line}".encode(errors="replace").decode()
    return Failed(status="out of memory" if _is_memory(error) else "failed", reason=reason)


def _is_memory(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or "can't allocate memory" in text
