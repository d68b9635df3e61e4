"""Other processes on this machine: found, looked at, signalled. Standard library only."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

PROC = Path("/proc")
LISTED = (PROC / "thread-self/children").exists()
"""Whether the kernel lists a thread's children (CONFIG_PROC_CHILDREN)."""
STOPPED = frozenset("Tt")
GONE = frozenset("ZX")
LOOK_S = 0.05
"""Seconds until a process that cannot be waited for is looked at again."""


def marked(name: str, value: str) -> list[int]:
    """Processes with this variable in their environment, wherever they went."""
    wanted = f"{name}={value}".encode()
    return [pid for pid in _all() if wanted in environment(pid)]


def environment(pid: int) -> list[bytes]:
    """A process's environment; nothing where it has ended, or is somebody else's."""
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def parentage() -> Callable[[int], list[int]]:
    """A function that tells the children of a process.

    Where the kernel does not list them, it tells those of the moment it was made.
    """
    return listed if LISTED else scanned()


def listed(pid: int) -> list[int]:
    """The children of a process, of all its threads, as the kernel lists them."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            with contextlib.suppress(OSError):
                children += map(int, (task / "children").read_text().split())
    return children


def scanned() -> Callable[[int], list[int]]:
    """The same from what every process says of its parent."""
    children: dict[int, list[int]] = {}
    for pid in _all():
        if fields := _stat(PROC / str(pid) / "stat"):
            children.setdefault(int(fields[1]), []).append(pid)
    return lambda pid: children.get(pid, [])


def started(pid: int) -> int | None:
    """When a process started, in ticks since boot, which tells it from a later one of its number.

    None where there is none; one that has ended and not been waited for is there.
    """
    fields = _stat(PROC / str(pid) / "stat")
    return int(fields[19]) if fields else None


def lives(pid: int) -> bool:
    """Whether a thread of a process lives, stopped or not."""
    return not _states(pid) <= GONE


def wait(pid: int, seconds: float) -> None:
    """Wait until a process ends, so long at most, without waking up to look.

    Where the kernel gives no handle of it (before 5.3, or refused to a container) it is `LOOK_S` at
    most.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except OSError:
        time.sleep(min(seconds, LOOK_S))
        return
    try:
        end = select.poll()
        end.register(handle, select.POLLIN)
        end.poll(1000 * seconds)
    finally:
        os.close(handle)


def is_off(pid: int) -> bool:
    """Whether all threads of a process are stopped, or it has ended."""
    return _states(pid) <= GONE | STOPPED


def send(pid: int, since: int, number: signal.Signals) -> bool:
    """Signal the process that started then, and no later one of its number.

    Returns:
        Whether it was there, and ours to signal.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except OSError:  # no handles here: the number may change hands within microseconds
        return _send_by_number(pid, since, number)
    try:
        if started(pid) != since:
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(handle)


def _send_by_number(pid: int, since: int, number: signal.Signals) -> bool:
    if started(pid) != since:
        return False
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def oom_kills() -> int:
    """Processes that the kernel has killed for memory since boot; -1 where it does not say."""
    try:
        text = Path("/proc/vmstat").read_text()
    except OSError:
        return -1
    words = text.split()
    return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else -1


def _all() -> list[int]:
    return [int(folder.name) for folder in PROC.iterdir() if folder.name.isdigit()]


def _states(pid: int) -> set[str]:
    """The states of a process's threads; none where it is gone."""
    states: set[str] = set()
    with contextlib.suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            states |= {*_stat(task / "stat")[:1]}
    return states


def _stat(path: Path) -> list[str]:
    """Fields of a stat file from the state on; empty where the process is gone."""
    try:
        return path.read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
