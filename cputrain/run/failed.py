"""A worker that gave no number, and how one that died is told of."""

from __future__ import annotations

import signal

from cputrain.machine import processes
from cputrain.record.answers import Answer, Failed
from cputrain.record.part import Failure
from cputrain.worker.ranks import torchrun

OF_PROFILER = "USDT:"
"""How lines begin that torch's profiler leaves at each look: nobody's words."""


class CellFailed(Exception):
    """A worker that gave no number. `status` is a word of the results tables, `reason` one line."""

    def __init__(self, status: Failure, reason: str) -> None:
        super().__init__(f"{status}: {reason}")
        self.status: Failure = status
        self.reason = reason


def death(code: int, phase: str, printed: str, ranks: bool, oom_kills: int) -> CellFailed:
    """Why a worker died.

    Args:
        code: its exit status, or minus the signal that ended it.
        phase: what it did, in its own words.
        printed: the end of what it printed.
        ranks: it was torchrun with its ranks.
        oom_kills: `processes.oom_kills` before it was started.
    """
    who, tail = "", last_words(printed)
    if ranks and (first := torchrun.first_death(printed)) is not None:
        who, code = f"rank {first[0]} ", first[1]
    if code >= 0:
        exited = f"{who or 'the worker '}exited with status {code} while {phase}"
        return CellFailed("failed", exited + tail)
    name = signal.Signals(-code).name
    if -code == signal.SIGKILL and processes.oom_kills() > oom_kills:
        return CellFailed("out of memory", f"{who}killed by the kernel while {phase}")
    return CellFailed("failed", f"{who}killed by {name} while {phase}{tail}")


def timeout(limit_s: float, phase: str, printed: str) -> CellFailed:
    """That a worker ran out of time.

    Args:
        limit_s: the seconds that it had.
        phase, printed: as in `death`.
    """
    tail = last_words(printed)
    return CellFailed("timed out", f"after {limit_s:.0f} s, while {phase}{tail}")


def answered(message: Answer, kind: type[Answer]) -> CellFailed:
    """That a worker answered something else than what was asked for, such as why it failed."""
    if isinstance(message, Failed):
        return CellFailed(message.status, message.reason)
    reason = f"the worker answered {type(message).__name__} and not {kind.__name__}"
    return CellFailed("failed", reason)


def last_words(printed: str) -> str:
    """The last three lines of what it printed, to put behind a reason; empty without any."""
    lines = torchrun.without_its_words(printed).split("\n")
    own_lines = [line.strip() for line in lines if not line.startswith(OF_PROFILER)]
    kept = [line for line in own_lines if line][-3:]
    return f"; its last words: {' | '.join(kept)[-400:]}" if kept else ""
