"""Start a worker's process: forked where a parent can do that, else a fresh interpreter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cputrain.experiment import Experiment
from cputrain.record.process import Placement
from cputrain.run import fresh
from cputrain.run.forked import Process
from cputrain.run.forking import Parents, forkable
from cputrain.run.wire import Wire


@dataclass(frozen=True)
class StartedProcess:
    """A worker's process that has just started.

    Attributes:
        mark: value of `environ.WORKER` in it and in all that it starts.
        wire: what it answers and prints.
        forked: whether a parent forked it.
        compiled: folder for compiled code; None where it compiles nothing.
    """

    process: Process
    mark: str
    wire: Wire
    forked: bool
    compiled: Path | None = None


def start(
    experiment: Experiment,
    placement: Placement,
    command: Sequence[str],
    compiled: Path | None,
    parents: Parents | None,
) -> StartedProcess:
    """Start it; its request is the first line that it reads.

    Args:
        experiment: settled.
        placement: of `experiment`.
        command, compiled, parents: see `launch.Worker`.

    Raises:
        OSError: it cannot be started.
        ParentFailed: no parent could fork it.
    """
    reading, writing = os.pipe()
    try:
        if parents is not None and not command and forkable(experiment, placement):
            forked, mark = parents.fork(experiment, placement, writing)
            return StartedProcess(forked, mark, _wire(reading, forked), forked=True)
        own = fresh.start(experiment, placement, writing, command, compiled)
        wire = _wire(reading, own.process)
        return StartedProcess(own.process, own.mark, wire, forked=False, compiled=own.compiled)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)


def _wire(reading: int, process: Process) -> Wire:
    assert process.stdout is not None
    return Wire(os.fdopen(reading, "rb", buffering=0), process.stdout)
