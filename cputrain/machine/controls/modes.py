"""Settings that are one word: governor, energy preference, turbo and the mode of huge pages."""

from __future__ import annotations

import re
from collections.abc import Collection

from cputrain.machine.controls.control import (
    CPUFREQ,
    Control,
    PolicyControl,
    is_virtual,
    policies,
    readable,
    why_no_policy,
)
from cputrain.machine.controls.files import Files

ACTIVE = ("intel_pstate", "amd-pstate-epp")
"""Drivers that choose the clock themselves, by a preference that `performance` fixes."""

BOOST = f"{CPUFREQ}/boost"
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"


class Governor(PolicyControl):
    """scaling_governor."""

    name = "governor"
    label = "governor"
    explanation = "The governor chooses each CPU's clock between the limits, by its load."
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
    explanation = "How the CPU weighs speed against energy when it chooses the clock itself."
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
    explanation = "Turbo lets a CPU go above its nominal clock while heat and power allow."
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
        if self.names():
            return None
        if is_virtual(self.files):
            return "no turbo switch here: in a virtual machine the host decides about the clock"
        return "no turbo switch here: neither cpufreq's boost nor intel_pstate's no_turbo"


class HugePageMode(Control):
    """transparent_hugepage/enabled."""

    name = "huge_pages"
    label = "huge page mode"
    explanation = "Whether the kernel backs memory with huge pages: always, where asked, or never."
    per_cpu = False
    pattern = ENABLED

    def names(self) -> list[str]:
        return [ENABLED]

    def now(self, name: str) -> str | None:
        """The word in brackets, as the kernel marks the one that is set."""
        text = super().now(name)
        marked = re.search(r"\[(\w+)\]", text or "")
        return marked[1] if marked else text

    def why_not(self, value: str) -> str | None:
        if self.now(ENABLED) is None:
            return "this kernel has no transparent huge pages"
        return None
