"""One rank, from its start to its end: rank 0 serves the launcher, the others serve rank 0."""

from __future__ import annotations

import os
import sys
import time

from cputrain.record import requests
from cputrain.worker import serving
from cputrain.worker.answering import answer, failure

PATIENCE_S = 30.0
"""How long a rank that lost the others waits for torchrun, which knows who died, to end it."""


def descriptor_of_answers() -> int:
    """The one to answer on: torchrun passes none on, so it is taken from torchrun itself."""
    return os.open(f"/proc/{os.getppid()}/fd/{sys.argv[1]}", os.O_WRONLY)


def import_framework() -> None:
    """Import torch, as rank 0 does meanwhile: no other engine has several processes."""
    from cputrain import engines
    from cputrain.engines import specs

    engines.load(specs.FIRST)


def main() -> int:
    """Run this rank; 1 where it failed, which the launcher has been told."""
    rank = int(os.environ["RANK"])
    descriptor = descriptor_of_answers()
    serving.begin(descriptor)
    try:
        return _lead(descriptor) if rank == 0 else _follow()
    except Exception as error:
        from cputrain.worker.ranks.group import is_loss_of_others

        if is_loss_of_others(error):
            time.sleep(PATIENCE_S)
        answer(descriptor, failure(error, f"rank {rank}: "))
        return 1


def _lead(descriptor: int) -> int:
    line = sys.stdin.readline()
    if not line:
        return 1
    from cputrain.worker.ranks.leader import Leader

    serving.serve(Leader(requests.decode_request(line), descriptor))
    return 0


def _follow() -> int:
    import_framework()
    from cputrain.worker.ranks.group import Group
    from cputrain.worker.ranks.member import Follower

    group = Group()
    Follower(group.hear_request(), group).serve()
    return 0
