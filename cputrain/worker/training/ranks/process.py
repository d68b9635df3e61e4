"""One rank of a run, from its start to its end."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from cputrain.errors import DidNotTrain
from cputrain.record import requests
from cputrain.worker import serving
from cputrain.worker.answering import answer, failure
from cputrain.worker.ranks import process
from cputrain.worker.training.signals import Signals

if TYPE_CHECKING:
    from cputrain.worker.training.ranks.job import RankJob

TOLD_S = 2.0
"""How long a rank that lost the others, and was told to end, waits before it does: torchrun looks
ten times a second who died, and the first one that it sees is the one that it names."""


def main() -> int:
    """Run this rank; 1 where it failed, which the launcher has been told."""
    rank, signals = int(os.environ["RANK"]), Signals()
    descriptor = process.descriptor_of_answers()
    serving.begin(descriptor)
    try:
        job = _other() if rank else _first(descriptor)
        if job is None:
            return 1
        signals.tell(job)
        job.run()
    except Exception as error:
        return _failed(error, rank, descriptor, signals)
    return 0


def _first(descriptor: int) -> RankJob | None:
    """Rank 0's; None where the launcher is gone.

    The request is read without a buffer: what comes after it stays in the pipe, and is looked for.
    """
    with open(0, "rb", buffering=0, closefd=False) as pipe:
        line = pipe.readline()
    if not line:
        return None
    from cputrain.worker.training.ranks.job import First

    return First(requests.decode_request(line.decode()), descriptor)


def _other() -> RankJob:
    process.import_framework()
    from cputrain.worker.ranks.group import Group
    from cputrain.worker.training.ranks.job import PATIENCE_S, Other

    group = Group(PATIENCE_S)
    return Other(group.hear_request(), group)


def _failed(error: Exception, rank: int, descriptor: int, signals: Signals) -> int:
    """Answer, unless another rank has more to say: torchrun, which knows who died, ends this one.

    A loss is that of all ranks: what is wrong with it rank 0 says for all.
    """
    from cputrain.worker.ranks.group import is_loss_of_others

    is_of_all = isinstance(error, DidNotTrain)
    if is_loss_of_others(error) or (is_of_all and rank):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(TOLD_S if signals.came else process.PATIENCE_S)
        if signals.came:
            return 1
    answer(descriptor, failure(error, "" if is_of_all else f"rank {rank}: "))
    return 1
