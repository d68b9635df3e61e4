"""What NumPy and its libraries say of the instructions that they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cputrain.knobs.instructions import Instructions, beside, openblas

if TYPE_CHECKING:
    from cputrain.experiment import Experiment


class NumpyInstructions(Instructions):
    """NumPy's loops, OpenBLAS, and the library that was loaded beside it."""

    def reports(self, experiment: Experiment, readings: dict[str, Any]) -> dict[str, Any]:
        return {"numpy": readings["simd"]} | openblas(readings) | beside()
