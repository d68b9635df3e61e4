"""One sweep at a time on one machine, whichever clone and user it is."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from cputrain.errors import UsageError

ADDRESS = "\0cputrain-sweep"
"""An abstract socket: it belongs to the machine, and is gone with the process that holds it."""


def hold(address: str = ADDRESS) -> socket.socket:
    """Take the machine for one sweep; the socket to keep open until it ends.

    Raises:
        UsageError: another sweep is running; the message says which process that is.
    """
    mine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        mine.bind(address)
    except OSError:
        mine.close()
        raise UsageError(
            f"another sweep is running on this machine ({_holder(address)}); "
            "two at once would measure each other: wait for it, or stop it"
        ) from None
    mine.listen(socket.SOMAXCONN)  # nobody accepts: those who asked stay in the queue
    return mine


def _holder(address: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)  # with a full queue it would wait until the other one ends
        try:
            asking.connect(address)
        except BlockingIOError:
            return "many have asked already which one it is"
        except OSError:
            return "it ended just now"
        packed = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid = struct.unpack("3i", packed)[0]
    try:
        where = Path(f"/proc/{pid}/cwd").readlink()
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ").strip()
    except OSError:
        return f"process {pid}"
    return f"process {pid} in {where}: {words}"
