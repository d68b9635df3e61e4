"""cpufreq's policies, and their settings of one word: governor, energy preference, turbo."""

from __future__ import annotations

import functools
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

from cputrain.machine import cpu, reading
from cputrain.machine.controls.control import Control, Files, readable
from cputrain.machine.reading import Unknown

CPUFREQ = "/sys/devices/system/cpu/cpufreq"
"""The folder of cpufreq's policies: folders of settings that one or several CPUs share."""
ACTIVE = ("intel_pstate", "amd-pstate-epp")
"""Drivers that choose the clock themselves, by a preference that `performance` fixes."""

BOOST = f"{CPUFREQ}/boost"
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"


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
    return _flag("hypervisor", files) is True


def _flag(name: str, files: Files) -> bool | None:
    """Whether x86's flags have it; None where they are not told.

    Without "ida" intel_pstate takes no value for its turbo switch.
    """
    try:
        return name in cpu.info(files.root, "flags").split()
    except reading.Unknown:
        return None


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


class Governor(PolicyControl):
    """scaling_governor."""

    name = "governor"
    label = "governor"
    setting = "scaling_governor"
    pattern = rf"{CPUFREQ}/policy\d+/{setting}"
    moves = ("energy_preference",)

    def why_not(self, value: str) -> str | None:
        if (reason := why_no_policy(self.files, self.cpus)) is not None:
            return reason
        return self.why_not_listed(value, "scaling_available_governors")


class EnergyPreference(PolicyControl):
    """energy_performance_preference.

    Args:
        governor: the one that is set with it; None is as found.
    """

    name = "energy_preference"
    label = "energy preference"
    setting = "energy_performance_preference"
    pattern = rf"{CPUFREQ}/policy\d+/{setting}"

    def __init__(
        self, files: Files, cpus: Collection[int] | None = None, governor: str | None = None
    ) -> None:
        super().__init__(files, cpus)
        self.governor = governor

    def names(self) -> list[str]:
        return [name for name in super().names() if self.files.there(name)]

    def why_not(self, value: str) -> str | None:
        if (reason := why_no_policy(self.files, self.cpus)) is not None:
            return reason
        if len(self.names()) < len(self.folders()):
            return f"no energy preference here: {self.driver()} takes none"
        reason = self.why_not_listed(value, "energy_performance_available_preferences")
        if reason is not None:
            return reason
        governors = {self.governor} if self.governor else self._governors()
        if "performance" in governors and self.driver() in ACTIVE and value != "performance":
            return f"governor performance of {self.driver()} fixes the energy preference"
        return None

    def _governors(self) -> set[str | None]:
        return {self.now(f"{folder}/{Governor.setting}") for folder in self.folders()}


class Turbo(Control):
    """cpufreq's boost, or intel_pstate's no_turbo, which is the inverse."""

    name = "turbo"
    label = "turbo"
    per_cpu = False
    moves = ("frequency",)
    pattern = rf"{BOOST}|{NO_TURBO}|{CPUFREQ}/policy\d+/boost"

    def names(self) -> list[str]:
        """Of those that it may be: the switches that set it here.

        intel_pstate's stays behind, unreadable, where another driver took over.
        """
        for name in (BOOST, NO_TURBO):
            if self.now(name) is not None:
                return [name]
        each = [f"{folder}/boost" for folder in policies(self.files, None)]
        return [name for name in each if self.files.there(name)]

    def read(self) -> dict[str, str]:
        """Also each policy's switch, which the machine's own overwrites."""
        each = {f"{folder}/boost": None for folder in policies(self.files, None)}
        return readable((name, self.now(name)) for name in dict.fromkeys([*self.names(), *each]))

    def texts(self, value: str) -> dict[str, str]:
        on = value == "on"
        return {name: str(int(on != (name == NO_TURBO))) for name in self.names()}

    def state(self) -> str | None:
        """on, off, or None where there is no switch or they differ."""
        return next((value for value in ("on", "off") if self.is_set(value)), None)

    def why_not(self, value: str) -> str | None:
        if names := self.names():
            if value == "on" and names == [NO_TURBO] and _flag("ida", self.files) is False:
                return "this CPU has no turbo, or its firmware has turned it off"
            return None
        if is_virtual(self.files):
            return "no turbo switch here: in a virtual machine the host decides about the clock"
        return "no turbo switch here: neither cpufreq's boost nor intel_pstate's no_turbo"
