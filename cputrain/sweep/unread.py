"""Standard output that a long run may outlive: a closed pipe, a terminal that was hung up."""

from __future__ import annotations

import os
import sys
from typing import IO, cast

from rich.console import Console

from cputrain.sweep import stopping
from cputrain.sweep.console import standard_output


class Lasting:
    """Standard output, as a file that never fails: from its first error on nothing is printed.

    rich ends the process with status 1 where a pipe has no reader, and every other error of
    standard output ends it, too: as a run's process does, its worker ends without a checkpoint.
    """

    @property
    def encoding(self) -> str:
        """Of standard output."""
        return sys.stdout.encoding

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return sys.stdout.isatty()

    def fileno(self) -> int:
        """Its descriptor."""
        return sys.stdout.fileno()

    def write(self, text: str) -> int:
        """Print; how much was taken."""
        try:
            sys.stdout.write(text)
        except OSError as error:
            self._drop(error)
        return len(text)

    def flush(self) -> None:
        """Have it printed."""
        try:
            sys.stdout.flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        """Let all that is and was printed go nowhere; say so on standard error."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        stopping.tell(f"standard output: {error.strerror}: no more is printed; the run goes on")


def console() -> Console:
    """The console of such an output."""
    return standard_output(cast(IO[str], Lasting()))
