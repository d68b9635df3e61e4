"""A process that has imported an engine and done nothing else, and forks workers.

`python -m cputrain.worker.parent SOCKET ENGINE` says "ready" on the descriptor SOCKET; for each
"fork" that comes with three descriptors (the worker's input, its output, where it answers) it says
the worker's process number. The end of the socket ends it, and not the workers: they are children
of whoever started this process.

There is one thread when it forks. OpenBLAS, which comes with NumPy, starts its threads when it is
loaded, and ends them before a fork by a handler of its own: so a first fork, of a child that ends
at once, comes before all others, and then the threads are counted.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from pathlib import Path

from cputrain.machine.parent import die_with_parent
from cputrain.worker import answering, resident, serving


def load(engine: str) -> None:
    """Import what a worker of `engine` imports before it does anything."""
    from cputrain import engines
    from cputrain.data import feed  # noqa: F401
    from cputrain.worker import gates, job  # noqa: F401

    engines.load(engine)


def why_not_single_threaded() -> str | None:
    """End the threads that a library ends before a fork; why there is still another, if so."""
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    threads = [task.name for task in Path("/proc/self/task").iterdir()]
    if len(threads) == 1:
        return None
    return f"{len(threads) - 1} threads beside the first one, and a fork would lose them"


def fork(line: socket.socket, descriptors: list[int], pages: list[range]) -> None:
    """Fork a worker with `pages` of files in its memory, and say which process it is."""
    launcher = os.getppid()
    sys.stdout.flush()
    if (child := os.fork()) != 0:
        os.waitpid(child, 0)
        for descriptor in descriptors:
            os.close(descriptor)
        return
    between = os.getpid()
    if os.fork() != 0:
        os._exit(0)
    while os.getppid() == between:  # until that has ended
        os.sched_yield()
    die_with_parent()
    if os.getppid() != launcher:  # it ended before the tie was made
        os._exit(1)
    line.send(str(os.getpid()).encode())  # by now the launcher can wait for it
    line.close()
    resident.touch(pages)
    be_worker(*descriptors)


def be_worker(commands: int, printed: int, answers: int) -> None:
    """Go on as `worker.job` does in a fresh interpreter; does not return."""
    from cputrain.worker import job

    os.dup2(commands, 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    for descriptor in (commands, printed):
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = ["worker", str(answers)]
    serving.leave(job.main)


def main() -> int:
    """Serve one socket; 1 where no worker could be forked, which the launcher has been told."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)
    try:
        load(sys.argv[2])
    except Exception as error:
        line.send(answering.failure(error).reason.encode())
        return 1
    if (reason := why_not_single_threaded()) is not None:
        line.send(reason.encode())
        return 1
    gc.collect()
    gc.freeze()  # what is imported is not looked through again in every worker
    pages = resident.file_pages()
    line.send(b"ready")
    while True:
        data, descriptors, _, _ = socket.recv_fds(line, 16, 3)
        if not data:
            return 0
        fork(line, list(descriptors), pages)


if __name__ == "__main__":
    serving.leave(main)
