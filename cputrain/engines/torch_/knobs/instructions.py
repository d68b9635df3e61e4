"""What torch's libraries say of the instructions that they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.knobs.instructions import Instructions

if TYPE_CHECKING:
    from cputrain.experiment import Experiment


class TorchInstructions(Instructions):
    """torch's loops, oneDNN and MKL; IPEX's too."""

    def reports(self, experiment: Experiment, readings: dict[str, Any]) -> dict[str, Any]:
        reports: dict[str, Any] = readings["instruction_sets"]
        return reports
