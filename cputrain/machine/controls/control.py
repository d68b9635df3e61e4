"""What a control is: one setting in the kernel's files, and how these are read and written."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

from cputrain.machine.controls.files import ControlError, Files
from cputrain.machine.reading import Unknown


class Control:
    """One setting.

    Args:
        files: the machine's.
        cpus: those that it is set for; None is all. Settings of the whole machine ignore it.

    Attributes:
        name: in journals and run records.
        label: for people.
        explanation: one sentence for people.
        per_cpu: whether it is set for CPUs, not for the whole machine.
        moves: names of other controls whose files the kernel may change when this is written.
        pattern: what the names of its files match, whole, on every machine.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    explanation: ClassVar[str]
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
