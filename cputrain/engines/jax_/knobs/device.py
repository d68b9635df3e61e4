"""The device that JAX computes on.

JAX takes a GPU before the CPU where a plugin for one is installed beside it, also with no word of
it in the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.knobs.inforce import Check, same
from cputrain.knobs.knob import Knob, Placement

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

PLATFORM = "cpu"


class JaxDevice(Knob):
    """The CPU, whatever else JAX could compute on."""

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        return {"JAX_PLATFORMS": PLATFORM}

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        """What JAX's devices are, and that they are one."""
        return [same("JAX's devices", [PLATFORM], readings.get("platforms"))]
