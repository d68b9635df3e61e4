"""The child process that trains a run.

`python -m cputrain.worker.training.process DESCRIPTOR` reads a `JobRequest` with a plan from its
standard input, and answers (`record.train`) on the descriptor. SIGTERM and SIGINT have it save
after the step in progress, and end.
"""

from __future__ import annotations

import sys

from cputrain.record import requests
from cputrain.worker import serving
from cputrain.worker.answering import answer, failure
from cputrain.worker.training.job import TrainingJob
from cputrain.worker.training.signals import Signals


def main() -> int:
    """Serve one request; 1 where it failed, which the launcher has been told."""
    descriptor = int(sys.argv[-1])
    signals = Signals()
    serving.begin(descriptor)
    line = sys.stdin.readline()
    if not line:
        return 1
    try:
        job = TrainingJob(requests.decode_request(line), descriptor)
        signals.tell(job)
        job.run()
    except Exception as error:
        answer(descriptor, failure(error))
        return 1
    return 0


if __name__ == "__main__":
    serving.leave(main)
