"""The processes of one worker: found, stopped, continued and ended together.

Whoever launches workers becomes the subreaper of all that they start: an orphan is then its child,
and shows by its mark whose it was. Only one worker of a conductor runs at a time, so a new orphan
with a mark that several workers share is that of the worker on turn.

Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable

from cputrain.machine import processes
from cputrain.run import guard

PR_SET_CHILD_SUBREAPER = 36
STOP_S = 10.0
"""A stopped process is off its CPUs within a scheduler's tick, and a killed one gone, unless it is
in a system call that cannot be interrupted."""
PAUSE_S = 0.0003
LOOKS = 2
"""A process may start another one between a look at its children and the end of that look: nobody
is left out once so many looks, one after the other, have found nobody new."""

_leaders: set[int] = set()
"""What this process has started itself: no orphan of a worker."""


_families: list[Family] = []
"""Those whose worker has not been ended."""


class WillNotStop(RuntimeError):
    """A process that goes on although it was told to stop."""


def adopt_orphans() -> None:
    """Become the parent of whatever this process's descendants leave behind (prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def started(pid: int) -> None:
    """Note a process of this one's own that is none of a worker's."""
    _leaders.add(pid)


def ended(pid: int) -> None:
    """Forget it."""
    _leaders.discard(pid)


def reap() -> None:
    """Wait for orphans that have ended: for the conductor, whose own children are all noted."""
    for pid in processes.parentage()(os.getpid()):
        if pid not in _leaders and not processes.lives(pid):
            _wait_for(pid)


class Family:
    """A worker's process and all that it started.

    Args:
        leader: the worker's process, a child of this one that has not been waited for.
        mark: NAME=value, in the environment of all of them.
    """

    def __init__(self, leader: int, mark: str) -> None:
        self.leader = leader
        self._since = processes.started(leader)
        self.mark = mark
        self._others: dict[int, int] = {}
        self._ended = False
        started(leader)
        _families.append(self)

    def look(self) -> None:
        """Note who there is, so that they are ended whatever becomes of this process."""
        self._members()

    def stop(self) -> None:
        """Stop all of them, and wait until every thread of theirs is.

        Raises:
            WillNotStop: one of them runs on.
        """
        end, quiet = time.monotonic() + STOP_S, 0
        while quiet < LOOKS:
            running = {p: t for p, t in self._members().items() if not processes.is_off(p)}
            quiet = 0 if running else quiet + 1
            for pid, since in running.items():
                processes.send(pid, since, signal.SIGSTOP)
            if running and time.monotonic() > end:
                raise WillNotStop(f"process {min(running)} did not stop within {STOP_S:g} s")
            if running:
                time.sleep(PAUSE_S)

    def resume(self) -> None:
        """Let all of them go on."""
        for pid, since in self._members().items():
            processes.send(pid, since, signal.SIGCONT)

    def kill(self) -> list[int]:
        """End all but the leader, which its parent has killed and waited for; who there was.

        Safe to call again. What cannot be killed, as it waits for a device, is left after `STOP_S`:
        it goes once it has its answer.
        """
        killed: list[int] = []
        if self._ended:
            return killed
        end, quiet = time.monotonic() + STOP_S, 0
        while quiet < LOOKS and time.monotonic() < end:
            members = self._members()
            others = {p: t for p, t in members.items() if p != self.leader and processes.lives(p)}
            quiet = 0 if others else quiet + 1
            for pid, since in others.items():
                processes.send(pid, since, signal.SIGKILL)
            killed += others
            if others:
                time.sleep(PAUSE_S)
        for pid in self._others:
            _wait_for(pid)  # it is this process's where it was an orphan
        ended(self.leader)
        _families.remove(self)
        self._ended = True
        return list(dict.fromkeys(killed))

    def has(self, pid: int) -> bool:
        """Whether it has seen a process, which is there still."""
        return pid in self._others and self._others[pid] == processes.started(pid)

    def _members(self) -> dict[int, int]:
        """All that descends from the leader, or did, and when each started; some may be zombies."""
        children = processes.parentage()
        known = {p: t for p, t in self._others.items() if processes.started(p) == t}
        if self._since is not None and processes.started(self.leader) == self._since:
            known[self.leader] = self._since
        seen: dict[int, int] = {}
        waiting = [*known, *self._orphans(children)]
        while waiting:
            pid = waiting.pop()
            if pid in seen or (since := known.get(pid) or processes.started(pid)) is None:
                continue
            seen[pid] = since
            waiting += [child for child in children(pid) if child not in _leaders]
        others = {pid: since for pid, since in seen.items() if pid != self.leader}
        if new := others.items() - self._others.items():
            guard.tell(dict(new), self.mark)
        self._others = others
        return seen

    def _orphans(self, children: Callable[[int], list[int]]) -> list[int]:
        """Children of this process with the mark, which it did not start itself."""
        mark = self.mark.encode()
        return [
            pid
            for pid in children(os.getpid())
            if pid not in _leaders
            and mark in processes.environment(pid)
            and not any(family.has(pid) for family in _families if family is not self)
        ]


def _wait_for(pid: int) -> None:
    if pid not in _leaders:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
