"""What a control is: one setting in the kernel's files, and how these are read and written."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from cputrain import environ
from cputrain.machine import pages, reading
from cputrain.machine.pages import ENABLED
from cputrain.machine.reading import Unknown


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


class Control:
    """One setting.

    Args:
        files: the machine's.
        cpus: those that it is set for; None is all. Settings of the whole machine ignore it.

    Attributes:
        name: in journals and run records.
        label: for people.
        per_cpu: whether it is set for CPUs, not for the whole machine.
        moves: names of other controls whose files the kernel may change when this is written.
        pattern: what the names of its files match, whole, on every machine.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    per_cpu: ClassVar[bool] = True
    moves: ClassVar[tuple[str, ...]] = ()
    pattern: ClassVar[str]

    @classmethod
    def has_file(cls, name: str) -> bool:
        """Whether `name` is a file of this control, on whatever machine."""
        return re.fullmatch(cls.pattern, name, re.ASCII) is not None

    def __init__(self, files: Files, cpus: Collection[int] | None = None) -> None:
        self.files = files
        self.cpus = cpus

    def names(self) -> list[str]:
        """Its files here."""
        raise NotImplementedError

    def texts(self, value: str) -> dict[str, str]:
        """What each file has to say for `value`. Raises Unknown where that cannot be told."""
        return dict.fromkeys(self.names(), value)

    def why_not(self, value: str) -> str | None:
        """Why this machine cannot have `value`, permission aside; None where it can."""
        raise NotImplementedError

    def read(self) -> dict[str, str]:
        """What each of its files says now; those that say nothing are left out."""
        return readable((name, self.now(name)) for name in self.names())

    def now(self, name: str) -> str | None:
        """What a file says now; None where it says nothing."""
        try:
            return self.files.read(name)
        except Unknown:
            return None

    def is_set(self, value: str) -> bool:
        """Whether `value` is what the kernel has, everywhere."""
        try:
            texts = self.texts(value)
        except Unknown:
            return False
        return bool(texts) and all(self.now(name) == text for name, text in texts.items())

    def why_not_written(self) -> str | None:
        """Why this process may not write its files; None where it may."""
        reasons = (self.files.why_not_written(name) for name in self.names())
        return next((reason for reason in reasons if reason is not None), None)

    def write(self, value: str) -> None:
        """Set `value` and read it back.

        Raises:
            ControlError: the kernel did not take it.
        """
        try:
            texts = self.texts(value)
            self.put(texts)
        except Unknown as unknown:
            raise ControlError(str(unknown)) from unknown
        for name, text in texts.items():
            if (actual := self.now(name)) != text:
                raise ControlError(f"{name}: wrote {text}, the kernel has {actual}")

    def put(self, texts: Mapping[str, str]) -> None:
        """Write the files in an order that the kernel takes. Raises ControlError, Unknown."""
        for name, text in texts.items():
            self.files.write(name, text)

    def restore(self, saved: Mapping[str, str]) -> None:
        """Write what `read` gave where it is no longer so; go on where the kernel refuses.

        Whoever calls it reads again: another setting may have to go back first.
        """
        for name, text in saved.items():
            if self.now(name) != text:
                with contextlib.suppress(ControlError):
                    self.files.write(name, text)


def readable(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Those that say something."""
    return {name: text for name, text in pairs if text is not None}


class HugePageMode(Control):
    """transparent_hugepage/enabled, the simplest control."""

    name = "huge_pages"
    label = "huge page mode"
    per_cpu = False
    pattern = ENABLED

    def names(self) -> list[str]:
        return [ENABLED]

    def now(self, name: str) -> str | None:
        """The word in brackets, as the kernel marks the one that is set."""
        try:
            return pages.huge_page_mode(self.files.root, name)
        except Unknown:
            return None

    def why_not(self, value: str) -> str | None:
        if self.now(ENABLED) is None:
            return "this kernel has no transparent huge pages"
        return None
