"""The process of an altered worker: `python -m cputrain.worker.altered NAME DESCRIPTOR`.

It is told what every worker is told (see `worker.job`), and answers as every worker does.
"""

from __future__ import annotations

import json
import sys

from cputrain.worker import serving
from cputrain.worker.altered.job import AlteredJob


def main() -> int:
    """Serve one request; 1 where it failed, which the launcher has been told."""
    from cputrain.worker.answering import failure

    name, descriptor = sys.argv[1], int(sys.argv[2])
    serving.begin(descriptor)
    worker = AlteredJob(json.loads(sys.stdin.readline()), descriptor, name)
    try:
        serving.serve(worker)
    except Exception as error:
        worker.say(failure(error))
        return 1
    return 0


if __name__ == "__main__":
    serving.leave(main)
