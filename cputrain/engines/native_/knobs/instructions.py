"""What the libraries of the native engine say of the instructions that they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.knobs.instructions import Instructions, beside, openblas

if TYPE_CHECKING:
    from cputrain.experiment import Experiment


class NativeInstructions(Instructions):
    """The library that multiplies; vectors of its own code are counted by its compiler's knob."""

    def reports(self, experiment: Experiment, readings: dict[str, Any]) -> dict[str, Any]:
        backend = experiment.runtime.matmul_backend
        if backend == "openblas":
            return openblas(readings)
        return beside() if backend == "mkl" else {}
