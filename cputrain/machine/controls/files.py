"""The kernel's files that controls read and write, and where they are."""

from __future__ import annotations

import os
from pathlib import Path

from cputrain import environ
from cputrain.machine import reading


class ControlError(RuntimeError):
    """The kernel did not take a setting: one line says which file, what was asked and what is."""


def machine_root() -> Path:
    """Where the controls' files are: /, or the made tree that MACHINE_ROOT names."""
    return Path(environ.value(environ.MACHINE_ROOT) or reading.ROOT).absolute()


def is_allowed() -> bool:
    """Whether the user asked for changes of the machine."""
    return environ.value(environ.ALLOW_MACHINE_CHANGES) == "1"


class Files:
    """Files by their absolute names, below `root`."""

    def __init__(self, root: Path = reading.ROOT) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Where `name` is really."""
        return self.root / name.lstrip("/")

    def there(self, name: str) -> bool:
        """Whether there is such a file."""
        return self.path(name).exists()

    def read(self, name: str) -> str:
        """Its stripped text. Raises reading.Unknown."""
        return reading.text(self.root, name)

    def write(self, name: str, value: str) -> None:
        """Write `value`, in one call, as the kernel wants it.

        Raises:
            ControlError: the kernel refused.
        """
        try:
            self.put(name, value)
        except OSError as error:
            raise ControlError(f"{name} does not take {value!r}: {error.strerror}") from None

    def put(self, name: str, value: str) -> None:
        """The write itself. Raises OSError."""
        handle = os.open(self.path(name), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(handle, f"{value}\n".encode())
        finally:
            os.close(handle)

    def why_not_written(self, name: str) -> str | None:
        """Why this process may not write it; None where it may."""
        path = self.path(name)
        try:
            writable = path.stat().st_mode & 0o222
            mounted_read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        except OSError as error:
            return f"{name}: {error.strerror}"
        if mounted_read_only:
            return f"{name} is mounted read-only here, as in a container"
        if not writable:  # the kernel holds root to this too
            return f"{name} cannot be written on this machine"
        if not os.access(path, os.W_OK):
            return f"{name} may not be written by this user: run as root"
        return None
