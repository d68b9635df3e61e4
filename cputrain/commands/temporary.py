"""The folder for temporary files: short enough for the sockets in it."""

from __future__ import annotations

import os
import tempfile

SOCKET_BYTES = 107
"""Of a socket's path at most (unix(7): sun_path, without its end)."""
BELOW_BYTES = len("/pymp-12345678/listener-12345678")
"""Of the longest path of a socket below the folder: that of multiprocessing; asv's and the
conductor's are shorter."""
SHORT = "/tmp"


def shorten() -> str | None:
    """Use `SHORT` where TMPDIR is too long, and say so; None where it is not."""
    length = len(os.fsencode(os.environ.get("TMPDIR", "")))
    most = SOCKET_BYTES - BELOW_BYTES
    if length <= most:
        return None
    os.environ["TMPDIR"] = SHORT
    tempfile.tempdir = None  # it is looked up again
    return f"TMPDIR is {length} bytes long, and sockets have room up to {most}: {SHORT} is used"
