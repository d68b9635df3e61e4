"""Clocks above the nominal one: one switch for the machine, or one for each policy."""

from __future__ import annotations

from cputrain.machine.controls import policies
from cputrain.machine.controls.control import Control

BOOST = f"{policies.CPUFREQ}/boost"
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"


class Turbo(Control):
    """cpufreq's boost, or intel_pstate's no_turbo, which is the inverse."""

    name = "turbo"
    label = "turbo"
    explanation = "Turbo lets a CPU go above its nominal clock while heat and power allow."
    per_cpu = False
    moves = ("frequency",)

    def names(self) -> list[str]:
        """Of those that it may be: the switches that set it here.

        intel_pstate's stays behind, unreadable, where another driver took over.
        """
        for name in (BOOST, NO_TURBO):
            if self.now(name) is not None:
                return [name]
        each = [f"{folder}/boost" for folder in policies.of(self.files, None)]
        return [name for name in each if self.files.there(name)]

    def read(self) -> dict[str, str]:
        """Also each policy's switch, which the machine's own overwrites."""
        each = {f"{folder}/boost": None for folder in policies.of(self.files, None)}
        found = ((name, self.now(name)) for name in dict.fromkeys([*self.names(), *each]))
        return {name: text for name, text in found if text is not None}

    def asked(self, value: str) -> dict[str, str]:
        on = value == "on"
        return {name: str(int(on != (name == NO_TURBO))) for name in self.names()}

    def state(self) -> str | None:
        """on, off, or None where there is no switch or they differ."""
        return next((value for value in ("on", "off") if self.is_set(value)), None)

    def why_not(self, value: str) -> str | None:
        if self.names():
            return None
        if policies.is_virtual(self.files):
            return "no turbo switch here: in a virtual machine the host decides about the clock"
        return "no turbo switch here: neither cpufreq's boost nor intel_pstate's no_turbo"
