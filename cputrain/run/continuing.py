"""A saved model continues a text, in the environment that has torch; prints what it wrote.

`python -m cputrain.run.continuing` reads a `ContinuationRequest` from its standard input, and
prints a line of JSON: `Continued`, or `Failed` where it cannot be.
"""

from __future__ import annotations

import sys

from cputrain.record import files
from cputrain.record.answers import Failed
from cputrain.record.continued import ContinuationRequest, Continued
from cputrain.run import one_request
from cputrain.worker.answering import failure
from cputrain.worker.training import continuing


def main() -> int:
    """Serve one request; 1 where the model cannot be asked."""
    answer: Continued | Failed
    try:
        answer = continuing.continued(one_request.read(ContinuationRequest))
    except Exception as error:
        answer = failure(error)
    sys.stdout.buffer.write(files.encode(answer) + b"\n")
    return int(isinstance(answer, Failed))


if __name__ == "__main__":
    sys.exit(main())
