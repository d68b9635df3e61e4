"""Tie a process's life to its parent's. Standard library only."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

PR_SET_PDEATHSIG = 1


def dies_with_parent() -> Callable[[], None]:
    """A function to call in a child between fork and exec: SIGKILL it when its parent ends."""
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def tie() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the tie was made
            os._exit(1)

    return tie


def die_with_parent() -> None:
    """SIGKILL this process when its parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
