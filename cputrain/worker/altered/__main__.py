"""The process of an altered worker: `python -m cputrain.worker.altered NAME DESCRIPTOR`.

It is told what every worker is told (see `worker.job`), and answers as every worker does.
"""

from __future__ import annotations

import functools
import sys

from cputrain.worker import job, serving
from cputrain.worker.altered.job import AlteredJob

if __name__ == "__main__":
    serving.leave(lambda: job.main(functools.partial(AlteredJob, name=sys.argv[1])))
