"""Which library multiplies the native engine's matrices: its own code, or one of one thread.

The engine's OpenMP threads each call the library.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cputrain.knobs.inforce import Check, same
from cputrain.knobs.knob import Placement
from cputrain.knobs.matmul import MKL_LAYERS, Matmul, library_path

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

OPENBLAS_ALONE = {"OPENBLAS_NUM_THREADS": "1"}
"""NumPy's own OpenBLAS too, which this engine never calls: a thread of it spins for 2^28 cycles
from its start on, 0.1 s in which it takes a core from the first steps."""
MKL_ALONE = {"MKL_NUM_THREADS": "1", **MKL_LAYERS, "MKL_THREADING_LAYER": "SEQUENTIAL"}


class NativeMatmul(Matmul):
    """A library of one thread for each of the engine's own."""

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        """No threads but the engine's."""
        return super().environment(experiment, placement) | OPENBLAS_ALONE

    def threading(self, backend: str) -> dict[str, str]:
        return MKL_ALONE if backend == "mkl" else OPENBLAS_ALONE

    def checks_of_threads(self, backend: str, readings: dict[str, Any]) -> list[Check]:
        """The library has one, and MKL no layer of them."""
        blas = readings.get("blas") or {}
        checks = [same("threads of the library itself", 1, blas.get("threads"))]
        if backend == "mkl":
            layer = layer_of(library_path(), readings)
            checks.append(same("MKL's threading layer", "sequential", layer))
        return checks


def layer_of(path: str, readings: dict[str, Any]) -> str | None:
    """What makes the threads of the library at `path`, as threadpoolctl tells; None for nothing."""
    for pool in readings.get("threadpools") or []:
        if os.path.realpath(pool["filepath"]) == path:
            layer: str | None = pool.get("threading_layer")
            return layer
    return None
