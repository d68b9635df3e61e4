"""What a control is: one setting in one or several of the kernel's files; cpufreq's policies."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from cputrain.machine import cpu, reading
from cputrain.machine.controls.files import ControlError, Files
from cputrain.machine.reading import Unknown

CPUFREQ = "/sys/devices/system/cpu/cpufreq"
"""The folder of cpufreq's policies: folders of settings that one or several CPUs share."""


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


class PolicyControl(Control):
    """A control with one file, `setting`, in the folder of each cpufreq policy."""

    setting: ClassVar[str]

    def folders(self) -> list[str]:
        """The policies of its CPUs."""
        return policies(self.files, self.cpus)

    def names(self) -> list[str]:
        return [f"{folder}/{self.setting}" for folder in self.folders()]

    def choices(self, listed: str) -> list[str]:
        """Words in file `listed` of every one of its policies, in order. Raises Unknown."""
        lists = [self.files.read(f"{folder}/{listed}").split() for folder in self.folders()]
        return [word for word in lists[0] if all(word in words for words in lists)]

    def why_not_listed(self, value: str, listed: str) -> str | None:
        """Why `value` is not among the words in file `listed` of its policies; None if it is."""
        try:
            words = self.choices(listed)
        except Unknown as unknown:
            return f"the {self.label}s of this machine are unknown: {unknown}"
        if value not in words:
            return f"no {self.label} {value} here: {self.driver()} has {', '.join(words)}"
        return None

    def driver(self) -> str:
        """The driver that sets the clock, or "this driver"."""
        return self.now(f"{self.folders()[0]}/scaling_driver") or "this driver"


def readable(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Those that say something."""
    return {name: text for name, text in pairs if text is not None}


def policies(files: Files, cpus: Collection[int] | None) -> list[str]:
    """Folders of the policies that rule these CPUs, each once, by number; None is all."""
    wanted = None if cpus is None else set(cpus)
    return [name for name, ruled in _policies(files.root) if wanted is None or ruled & wanted]


def ruled_cpus(files: Files, cpus: Collection[int] | None) -> set[int]:
    """The CPUs that share a policy with one of these, and these."""
    folders = set(policies(files, cpus))
    return {cpu for name, cpus in _policies(files.root) if name in folders for cpu in cpus}


@functools.lru_cache(maxsize=8)
def _policies(root: Path) -> tuple[tuple[str, frozenset[int]], ...]:
    """Every policy with its online CPUs; one without any can be neither read nor written.

    Kept: a plan asks hundreds of times, and CPUs do not come and go during one.
    """
    listed = []
    for folder in root.glob(f"{CPUFREQ.lstrip('/')}/policy[0-9]*"):
        name = f"{CPUFREQ}/{folder.name}"
        try:
            cpus = reading.text(root, f"{name}/affected_cpus").split()
        except reading.Unknown:
            continue
        listed.append((name, frozenset(map(int, cpus))))
    return tuple(sorted(listed, key=lambda policy: int(policy[0].rpartition("policy")[2])))


def why_no_policy(files: Files, cpus: Collection[int] | None) -> str | None:
    """Why the clock of these CPUs cannot be set at all; None where it can."""
    if not policies(files, None):
        if is_virtual(files):
            return "no cpufreq here: in a virtual machine the host decides about the clock"
        return "no cpufreq here: the kernel has no driver for this CPU's clock"
    missing = sorted(set(cpus or ()) - ruled_cpus(files, None))
    return f"no cpufreq policy for CPU {', '.join(map(str, missing))}" if missing else None


def is_virtual(files: Files) -> bool:
    """Whether x86's flags say that a hypervisor runs this machine."""
    try:
        return "hypervisor" in cpu.info(files.root, "flags").split()
    except reading.Unknown:
        return False
