"""The process that ends what workers have started when whoever owns the workers is gone.

Workers die with the conductor, by a signal of the kernel's. Their own children need not: one that
is stopped sees neither the end of its input nor its parent's death. So the conductor starts a
guard, in a session of its own, as soon as a worker has children, and tells it of each as it is
seen: a line with its number, when it started, and the mark of the worker's environment. The end of
its standard input is the conductor's: what it was told of, what descends from that and what has
one of the marks is killed then. After an orderly end there is nothing of the kind.

Usage: python -m cputrain.run.guard. Standard library only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping

from cputrain import paths
from cputrain.machine import processes

PATIENCE_S = 30.0
PAUSE_S = 0.01
LOOKS = 2
NO_GUARD = (
    "the guard ended with status {status} as it started: what workers start is left where this "
    "process is killed, until one starts; python -m cputrain.run.guard in the project says why"
)

_process: subprocess.Popen[bytes] | None = None
_watched: dict[int, tuple[int, str]] = {}


def tell(started: Mapping[int, int], mark: str) -> None:
    """Have these processes ended when this one is gone.

    Args:
        started: when each process started.
        mark: NAME=value of the worker that they descend from.

    Where no guard can be started standard error is told, and the next call tries again: whoever
    asks may be about to kill these processes, which must not fail for it.
    """
    global _process
    new = {pid: (since, mark) for pid, since in started.items()}
    _watched.update(new)
    if _process is not None and _say(_process, new):
        return
    for pid in [pid for pid, (since, _) in _watched.items() if processes.started(pid) != since]:
        del _watched[pid]
    _process = None
    process = _start()
    if _say(process, _watched):
        _process = process
    else:
        print(NO_GUARD.format(status=process.returncode), file=sys.stderr, flush=True)


def end() -> None:
    """End the guard, where there is one; nothing that it was told of may be left."""
    global _process
    if _process is not None:
        assert _process.stdin is not None
        _process.stdin.close()
        _process.wait()
    _process = None
    _watched.clear()


def _start() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-S", "-m", "cputrain.run.guard"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd=paths.PROJECT,
        env={"PYTHONPATH": str(paths.PROJECT)},
        start_new_session=True,
    )
    assert process.stdout is not None
    has_started = process.stdout.read(1)  # so that its start falls into nobody's block
    process.stdout.close()
    if not has_started:
        process.kill()
        process.wait()  # until then its input may still take a line
    return process


def _say(process: subprocess.Popen[bytes], watched: Mapping[int, tuple[int, str]]) -> bool:
    """Tell the guard; whether it lives. A line is written whole or not at all."""
    assert process.stdin is not None
    try:
        for pid, (since, mark) in watched.items():
            process.stdin.write(f"{pid} {since} {mark}\n".encode())
    except (BrokenPipeError, ValueError):  # it has ended; its input was closed before
        process.stdin.close()
        process.wait()
        return False
    return True


def kill(started: dict[int, int], marks: Iterable[str]) -> None:
    """Kill these processes, their descendants, and what has one of the marks, until all are gone.

    Args:
        started: when each process started.
        marks: NAME=value of environments.
    """
    end, quiet = time.monotonic() + PATIENCE_S, 0
    while quiet < LOOKS and time.monotonic() < end:
        children = processes.parentage()
        waiting = [pid for pid, since in started.items() if processes.started(pid) == since]
        for mark in marks:
            waiting += processes.marked(*mark.split("=", 1))
        tree: dict[int, int] = {}
        while waiting:
            pid = waiting.pop()
            if pid not in tree and (since := processes.started(pid)) is not None:
                tree[pid] = since
                waiting += children(pid)
        started |= tree  # they are known even where what they descend from is gone
        living = [pid for pid in tree if processes.lives(pid)]
        quiet = 0 if living else quiet + 1
        for pid in living:
            processes.send(pid, tree[pid], signal.SIGKILL)
        time.sleep(PAUSE_S)


def main() -> int:
    """Listen to the end, then kill."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.write(1, b"r")
    os.close(1)
    started: dict[int, int] = {}
    marks: set[str] = set()
    for line in sys.stdin:
        pid, since, mark = line.rstrip("\n").split(" ", 2)
        started[int(pid)] = int(since)
        marks.add(mark)
    kill(started, marks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
