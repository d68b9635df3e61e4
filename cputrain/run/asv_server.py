"""asv's fork server, made to wait for the end of a cell's process instead of looking for it.

It looks a thousand times a second (asv_runner 0.3.2, `server._run_server`), and interrupts the
worker that is measured as often. Suites are imported there before it forks: so it can be told.
"""

from __future__ import annotations

import os
import time

from cputrain.machine import processes

LOOK_S = 1.0
"""The longest wait: asv's own timeout of a cell is looked at in between."""


class ChildClock:
    """What that server has in the place of the module `time`, of which it uses `sleep` alone."""

    @staticmethod
    def sleep(seconds: float) -> None:
        """Wait until a child ends, `LOOK_S` at most; where there is none, so many seconds."""
        children = processes.parentage()(os.getpid())
        if children:
            processes.wait(children[0], LOOK_S)
        else:
            time.sleep(seconds)


def wait_for_children() -> None:
    """Have the fork server of this process wait."""
    from asv_runner import server

    server.time = ChildClock
