"""The lowest and the highest clock that the governor may choose."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping

from cputrain.machine.controls.control import ControlError, Files
from cputrain.machine.controls.cpufreq import (
    CPUFREQ,
    NO_TURBO,
    PolicyControl,
    Turbo,
    why_no_policy,
)
from cputrain.machine.reading import Unknown

LOW, HIGH = "scaling_min_freq", "scaling_max_freq"
ACPI = "acpi-cpufreq"


class Frequency(PolicyControl):
    """scaling_min_freq and scaling_max_freq, both set to one clock.

    A value is a number of GHz, "min" or "max": what cpuinfo says of each policy, without turbo
    no more than the nominal clock.

    Args:
        turbo: what is set with it, on or off; None is as found.
    """

    name = "frequency"
    label = "clock limits"
    setting = HIGH
    pattern = rf"{CPUFREQ}/policy\d+/({LOW}|{HIGH})"

    def __init__(
        self, files: Files, cpus: Collection[int] | None = None, turbo: str | None = None
    ) -> None:
        super().__init__(files, cpus)
        self.turbo = turbo

    def names(self) -> list[str]:
        return [f"{folder}/{end}" for folder in self.folders() for end in (LOW, HIGH)]

    def texts(self, value: str) -> dict[str, str]:
        clocks = {folder: self._khz(folder, value) for folder in self.folders()}
        return {
            f"{folder}/{end}": str(khz) for folder, khz in clocks.items() for end in (LOW, HIGH)
        }

    def ghz(self, value: str) -> tuple[float, float]:
        """The lowest and the highest clock that `value` means for its CPUs. Raises Unknown."""
        khz = [self._khz(folder, value) for folder in self.folders()]
        return min(khz) / 1e6, max(khz) / 1e6

    def nominal_ghz(self) -> float | None:
        """The clock that all CPUs can hold without turbo; None where the kernel does not say."""
        nominal = [self._nominal(folder) for folder in self.folders()]
        known = [khz for khz in nominal if khz is not None]
        return min(known) / 1e6 if known and len(known) == len(nominal) else None

    def lowest_ghz(self) -> float:
        """The lowest clock of any of its CPUs. Raises Unknown."""
        return min(self._number(f"{folder}/cpuinfo_min_freq") for folder in self.folders()) / 1e6

    def has_turbo(self) -> bool:
        """Whether clocks above the nominal one are allowed, as asked or else as found."""
        return (self.turbo or Turbo(self.files).state()) != "off"

    def why_not(self, value: str) -> str | None:
        if (reason := why_no_policy(self.files, self.cpus)) is not None:
            return reason
        try:
            return self._why_not(value)
        except Unknown as unknown:
            return f"the clocks of this machine are unknown: {unknown}"

    def _why_not(self, value: str) -> str | None:
        lowest = max(self._khz(folder, "min") for folder in self.folders())
        highest = min(self._khz(folder, "max") for folder in self.folders())
        if value in ("min", "max"):
            return None
        khz = _khz(value)
        if not lowest <= khz <= highest:
            without = "" if self.has_turbo() else " without turbo"
            reach = f"{lowest / 1e6:g} to {highest / 1e6:g} GHz"
            return f"{value} GHz is not among the clocks here{without}: {reach}"
        for folder in self.folders():
            steps = self._steps(folder)
            if steps and khz not in steps:
                listed = ", ".join(f"{step / 1e6:g}" for step in sorted(steps))
                return f"{value} GHz is not a step of {self.driver()} here: it has {listed} GHz"
            if self.driver() == ACPI and khz == max(steps, default=0) and self.has_turbo():
                return f"{value} GHz is {ACPI}'s highest step, and turbo goes above it"
        return None

    def put(self, texts: Mapping[str, str]) -> None:
        for folder in dict.fromkeys(name.rpartition("/")[0] for name in texts):
            low, high = f"{folder}/{LOW}", f"{folder}/{HIGH}"
            ends = [(high, texts[high]), (low, texts[low])]
            # The lowest may never be above the highest: the highest goes first unless it would be
            # below the lowest of before.
            if int(texts[high]) < self._number(low):
                ends.reverse()
            for name, text in ends:
                self.files.write(name, text)

    def restore(self, saved: Mapping[str, str]) -> None:
        for folder in dict.fromkeys(name.rpartition("/")[0] for name in saved):
            both = {name: text for name, text in saved.items() if name.startswith(f"{folder}/")}
            if len(both) == 2 and any(self.now(name) != text for name, text in both.items()):
                with contextlib.suppress(ControlError, Unknown):
                    self.put(both)

    def _khz(self, folder: str, value: str) -> int:
        if value not in ("min", "max"):
            return _khz(value)
        steps = self._steps(folder)
        if value == "min":
            return min(steps) if steps else self._number(f"{folder}/cpuinfo_min_freq")
        # Of a driver with steps cpuinfo_max_freq may be a turbo clock, which is none of them.
        highest = max(steps) if steps else self._number(f"{folder}/cpuinfo_max_freq")
        # cpuinfo_max_freq stays what it is when intel_pstate loses turbo, and limits above the
        # nominal clock are cut down to it.
        if not steps and not self.has_turbo() and self.files.there(NO_TURBO):
            return min(highest, self._number(f"{folder}/base_frequency"))
        return highest

    def _nominal(self, folder: str) -> int | None:
        """intel_pstate says it, and ACPI, in MHz; acpi-cpufreq's highest step stands for it."""
        first = folder.rpartition("policy")[2]
        cppc = f"/sys/devices/system/cpu/cpu{first}/acpi_cppc/nominal_freq"
        for name, khz in ((f"{folder}/base_frequency", 1), (cppc, 1000)):
            try:
                if nominal := self._number(name) * khz:
                    return nominal
            except Unknown:
                continue
        steps = self._steps(folder)
        return max(steps) if steps and self.driver() == ACPI else None

    def _steps(self, folder: str) -> set[int]:
        """The driver's steps, kHz; empty where it takes every clock. Raises Unknown."""
        listed = f"{folder}/scaling_available_frequencies"
        return set(map(int, self.files.read(listed).split())) if self.files.there(listed) else set()

    def _number(self, name: str) -> int:
        text = self.files.read(name)
        if not text.isdecimal():
            raise Unknown(f"{name}: {text[:40]!r} is not a number")
        return int(text)


def _khz(value: str) -> int:
    return round(float(value) * 1e6)
