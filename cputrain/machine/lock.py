"""One sweep at a time on one machine, whichever clone, user and network namespace it is in.

The kernel's lock on one file in /tmp: it is gone with the process that holds it, and every user
can take it, as the file needs to be read only. Standard library only.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from cputrain import environ
from cputrain.errors import UsageError

PATH = Path("/tmp/cputrain-sweep.lock")


class Held:
    """A lock that this process holds until it closes it or ends.

    Args:
        handle: the open file.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def close(self) -> None:
        """Give the lock back. Safe to call again."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


def hold(path: Path | None = None) -> Held:
    """Take the machine for one sweep, until what is returned is closed.

    Args:
        path: of the file, or folder, whose lock it is; a file is made where there is none. `PATH`
            where left out.

    Raises:
        UsageError: another sweep is running, and the message says which process that is; or
            `path` cannot be opened.
    """
    path = path or Path(environ.value(environ.LOCK) or PATH)
    while True:
        handle = _opened(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _holder(os.fstat(handle).st_ino)
            os.close(handle)
            raise UsageError(
                f"bench.py is running on this machine already ({holder}); "
                "two at once would slow each other down: wait for it, or stop it"
            ) from None
        if _is_still(path, handle):
            return Held(handle)
        os.close(handle)  # somebody removed it meanwhile: the next one takes another file


def _opened(path: Path) -> int:
    """The file, opened for reading; made where it is not there."""
    # Without O_CREAT: the kernel refuses that for a file of another user in /tmp. A link is not
    # followed, and a pipe does not make us wait.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            handle = os.open(path, flags)
        except FileNotFoundError:
            try:
                handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
                os.fchmod(handle, 0o444)  # whatever the umask
            except FileExistsError:  # another one was faster
                handle = os.open(path, flags)
    except OSError as error:
        raise UsageError(f"{path}, which keeps sweeps apart: {error.strerror}; remove it") from None
    return handle


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _holder(inode: int) -> str:
    """Who holds the lock on a file, by the kernel's list of locks."""
    pid = 0
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5].endswith(f":{inode}"):
            pid = int(words[4])
    if pid <= 0:  # it ended just now, or is in a container of its own
        return "a process that cannot be seen from here"
    try:
        where = Path(f"/proc/{pid}/cwd").readlink()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return f"process {pid}"
    return f"process {pid} in {where}: {command.replace(chr(0), ' ').strip()}"
