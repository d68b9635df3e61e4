"""A process that serves one request, which it reads from its standard input as JSON."""

from __future__ import annotations

import sys
from typing import TypeVar

import msgspec

from cputrain.machine.parent import die_with_parent
from cputrain.record.part import Part

R = TypeVar("R", bound=Part)


def read(kind: type[R]) -> R:
    """What the process is to do; from now on it ends with whoever started it.

    Raises:
        msgspec.DecodeError: it is no request of that kind.
    """
    die_with_parent()
    return msgspec.json.decode(sys.stdin.buffer.read(), type=kind)
