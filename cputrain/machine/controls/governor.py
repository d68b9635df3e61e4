"""Who chooses the clock: cpufreq's governor, and the preference that some drivers take."""

from __future__ import annotations

from collections.abc import Collection

from cputrain.machine.controls import policies
from cputrain.machine.controls.control import PolicyControl
from cputrain.machine.controls.files import Files
from cputrain.machine.reading import Unknown

ACTIVE = ("intel_pstate", "amd-pstate-epp")
"""Drivers that choose the clock themselves, by a preference that `performance` fixes."""


class Governor(PolicyControl):
    """scaling_governor."""

    name = "governor"
    label = "governor"
    explanation = "The governor chooses each CPU's clock between the limits, by its load."
    setting = "scaling_governor"
    moves = ("energy_preference",)

    def why_not(self, value: str) -> str | None:
        if (reason := policies.why_none(self.files, self.cpus)) is not None:
            return reason
        try:
            there = self.choices("scaling_available_governors")
        except Unknown as unknown:
            return f"the governors of this machine are unknown: {unknown}"
        if value not in there:
            return f"no governor {value} here: {self.driver()} has {', '.join(there)}"
        return None


class EnergyPreference(PolicyControl):
    """energy_performance_preference.

    Args:
        governor: the one that is set with it; None is as found.
    """

    name = "energy_preference"
    label = "energy preference"
    explanation = "How the CPU weighs speed against energy when it chooses the clock itself."
    setting = "energy_performance_preference"

    def __init__(
        self, files: Files, cpus: Collection[int] | None = None, governor: str | None = None
    ) -> None:
        super().__init__(files, cpus)
        self.governor = governor

    def names(self) -> list[str]:
        return [name for name in super().names() if self.files.there(name)]

    def why_not(self, value: str) -> str | None:
        if (reason := policies.why_none(self.files, self.cpus)) is not None:
            return reason
        if len(self.names()) < len(self.folders()):
            return f"no energy preference here: {self.driver()} takes none"
        try:
            there = self.choices("energy_performance_available_preferences")
        except Unknown as unknown:
            return f"the energy preferences of this machine are unknown: {unknown}"
        if value not in there:
            return f"no energy preference {value} here: {self.driver()} has {', '.join(there)}"
        governors = {self.governor} if self.governor else self._governors()
        if "performance" in governors and self.driver() in ACTIVE and value != "performance":
            return f"governor performance of {self.driver()} fixes the energy preference"
        return None

    def _governors(self) -> set[str | None]:
        return {self.now(f"{folder}/{Governor.setting}") for folder in self.folders()}
