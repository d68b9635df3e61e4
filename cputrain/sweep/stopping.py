"""Asked to stop by a signal: everything that was started ends, one line, status 128 + signal."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from cputrain.run.conductor import sockets

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 10.0
"""A killed process ends at once, unless the kernel is busy for it."""


def install(end: Callable[[], str]) -> None:
    """From now on a signal ends this process by `end`, which gives the line for people."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        for each in SIGNALS:  # a second key in the terminal does not break this off
            signal.signal(each, signal.SIG_IGN)
        line = end()
        sockets.remove_all()
        tell(line)
        os._exit(128 + number)

    for each in SIGNALS:
        if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(each, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # bench.py blocks them before it hands over


def tell(line: str) -> None:
    """One line on standard error, from a signal's handler too; nothing where nobody can read it."""
    with contextlib.suppress(OSError):
        os.write(2, f"bench.py: {line}\n".encode(errors="replace"))


def end_all() -> str:
    """End what was started; all that can be said where nothing is kept."""
    end_children()
    return "stopped"


def end_children() -> None:
    """Kill what this process has started and what that has started; wait until they have ended.

    What left for a session of its own is not meant: the watchdog of the machine's settings, which
    has work to do now.
    """
    end = time.monotonic() + PATIENCE_S
    me = os.getpid()
    sessions = {pid for pid, (parent, sid) in _processes().items() if parent == me and sid == pid}
    while time.monotonic() < end:
        pids = _started(sessions)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _started(sessions: set[int]) -> list[int]:
    """Children and theirs in this session, and all that is in `sessions`, which children lead."""
    me, own = os.getpid(), os.getsid(0)
    processes = _processes()
    pids: set[int] = set()
    while True:
        more = {
            pid
            for pid, (parent, sid) in processes.items()
            if sid in sessions or (sid == own and (parent == me or parent in pids))
        } - pids
        if not more:
            return sorted(pids)
        pids |= more


def _processes() -> dict[int, tuple[int, int]]:
    """Parent and session of every process that has not ended."""
    processes = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            state, parent, _, session = path.read_text().rpartition(")")[2].split()[:4]
            if state not in "ZX":
                processes[int(path.parent.name)] = int(parent), int(session)
    return processes
