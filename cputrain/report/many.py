"""Many machines' exports, made by several processes side by side."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from cputrain.errors import RunError
from cputrain.machine.parent import die_with_parent
from cputrain.report import machine_export
from cputrain.report.kept import KeptExport
from cputrain.report.machine_export import Order

FEWEST = 8
"""Machines from which on the processes save more time than their start takes."""
MOST_PROCESSES = 4
"""Each of them has 200 MB: together they stay below 1 GB, however many CPUs there are."""


def make(orders: Sequence[Order]) -> Iterator[KeptExport]:
    """What `machine_export.make` makes of each, in their order.

    Raises:
        OSError: something cannot be written.
        RunError: a process ended; the machines that were made are kept.
    """
    processes = min(len(os.sched_getaffinity(0)), MOST_PROCESSES, len(orders))
    spawning = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, spawning, initializer=_begin)
    try:
        yield from pool.map(machine_export.make, orders, chunksize=1)
    except BrokenProcessPool as error:
        raise RunError(
            "a process that makes pages was killed, perhaps for lack of memory: run "
            "python3 bench.py export again, which goes on where it stopped"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """In each process: it ends with its parent, which alone is told of Ctrl-C."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
