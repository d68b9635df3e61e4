"""What a node of a fleet says at the end of its sweep."""

from __future__ import annotations

import msgspec


class NodeEnded(msgspec.Struct, frozen=True):
    """The outcome of one task.

    Attributes:
        node: the scheduler's name of it, or the host's.
        folder: the clone that it worked in.
        status: of bench.py; None where there was nothing to do.
        said: its last line.
    """

    node: str
    folder: str
    status: int | None
    said: str
