"""The process that puts the machine back when whoever changed it is gone, however it went.

It is started before the first change, in a session of its own, so that neither a key in the
terminal nor the end of its parent reaches it. Its standard input is a socket to the parent: a
byte there means that all was put back, its end that the parent is gone. A signal to end makes it
put everything back at once and go on watching: its parent may still be writing.

Usage: python -m cputrain.machine.controls.watchdog JOURNAL ID ROOT
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from cputrain.errors import UsageError
from cputrain.machine.controls.files import Files
from cputrain.machine.controls.journal import Journal
from cputrain.machine.controls.leftover import undo

READY, DONE = b"r", b"d"


def restore(path: Path, id: str, files: Files, *, last: bool) -> bool:
    """Put back in `files` what journal `id` says; whether nothing is left to do.

    `last` removes the journal then.
    """
    try:
        journal = Journal.load(path)
    except FileNotFoundError:
        return True
    except UsageError:
        return False
    if journal.id != id:
        return True
    done = not undo(journal, files).left
    if done and last:
        journal.remove()
    return done


def main(path: Path, id: str, files: Files) -> int:
    """Watch; 1 where something could not be put back, and the journal is left."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: restore(path, id, files, last=False))
    try:
        os.write(0, READY)
        said = os.read(0, 1)
    except OSError:  # the other end is gone already
        said = b""
    if said == DONE:
        return 0
    return 0 if restore(path, id, files, last=True) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], Files(Path(sys.argv[3]))))
