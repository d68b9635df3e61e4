"""Bytes that this process has sent by TCP, as the kernel counted them, and what a ring needs."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress

from cputrain.machine.reading import Unknown

BYTES_SENT, BYTES_RETRANS = 200, 208
"""Places of tcpi_bytes_sent and tcpi_bytes_retrans in struct tcp_info (linux/tcp.h, since 4.19)."""
LEAST = 0.95
"""Share of the ring's bytes below which the gradients cannot all have been sent."""


def sent() -> int:
    """Bytes of data that this process's open TCP sockets have sent, each byte once.

    Raises:
        Unknown: the kernel does not count them.
    """
    total, known = 0, False
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names, not paths
        with suppress(OSError):  # closed meanwhile, or no socket
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):  # noqa: PTH115
                continue
            with socket.socket(fileno=os.dup(int(name))) as own:
                if own.type != socket.SOCK_STREAM or own.family not in IP:
                    continue
                info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            if len(info) < BYTES_RETRANS + 8:
                raise Unknown("this kernel does not count the bytes of a connection (Linux 4.19)")
            again = struct.unpack_from("=Q", info, BYTES_RETRANS)[0]
            total += struct.unpack_from("=Q", info, BYTES_SENT)[0] - again
            known = True
    if not known:
        raise Unknown("this process has no TCP connection")
    return total


IP = (socket.AF_INET, socket.AF_INET6)


def ring_bytes(payload: int, size: int) -> float:
    """Bytes that each of `size` processes sends to sum `payload` bytes of each around a ring.

    2 (size - 1) / size of them (Patarasuk & Yuan 2009, sec. 4): no all-reduce sends fewer in all.
    """
    return 2 * (size - 1) / size * payload
