"""Which library multiplies matrices."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain import environ
from cputrain.knobs.inforce import Check, same
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import libraries

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

VARIABLE = environ.MATMUL_LIBRARY
"""Tells the NumPy engine and the native one where the library is."""
X86 = ("x86_64", "AMD64", "i686")
MKL_LAYERS = {"MKL_THREADING_LAYER": "GNU", "MKL_INTERFACE_LAYER": "LP64"}
"""GNU's OpenMP follows OMP_NUM_THREADS, which MKL's layer of TBB threads does not; LP64 has
whole numbers of 32 bits."""
ALONE = {
    "openblas": {"OPENBLAS_NUM_THREADS": "1"},
    "mkl": {"MKL_NUM_THREADS": "1", **MKL_LAYERS, "MKL_THREADING_LAYER": "SEQUENTIAL"},
}
"""For the native engine, whose own OpenMP threads each call the library."""
BY_HAND = ("numpy", "native")
"""Engines that call one library for every product."""
PRIVATE = "torch.ops.mkldnn._linear_pointwise"
"""torch's way to oneDNN; its description is in MENTIONED."""
MENTIONED = "_meta_registrations.py"


class Matmul(Knob):
    """Which library multiplies matrices: for torch MKL or oneDNN, for NumPy and our C others.

    torch: the linear layers of the blocks; the head and attention stay in the library that torch
    was built with. NumPy, native: every product. In force by what the libraries themselves print
    of one step outside the clock (`engines.multiplied`), and here by their files and threads.
    """

    def why_not(self, experiment: Experiment) -> str | None:
        """The library is not there, or not for this machine."""
        runtime, machine = experiment.runtime, platform.machine()
        backend = runtime.matmul_backend
        if backend == "mkl" and machine not in X86:
            return f"MKL is for x86 processors only, and this is {machine}"
        if backend == "default":
            return None
        if runtime.engine in BY_HAND:
            return libraries.why_not(backend)
        return _why_not_onednn() if backend == "onednn" else None

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        """The library's path, and MKL's layers."""
        runtime = experiment.runtime
        if runtime.engine not in BY_HAND or runtime.matmul_backend == "default":
            return {}
        path = {VARIABLE: str(libraries.find(runtime.matmul_backend))}
        if runtime.engine == "native":
            return path | ALONE[runtime.matmul_backend]
        return path | (MKL_LAYERS if runtime.matmul_backend == "mkl" else {})

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        """The library's file, its own threads, and what makes MKL's."""
        runtime, blas = experiment.runtime, readings.get("blas") or {}
        if runtime.engine not in BY_HAND or runtime.matmul_backend == "default":
            return []
        path = os.path.realpath(os.environ.get(VARIABLE, ""))
        found = [same("library of matrix products", path, blas.get("path"))]
        native = runtime.engine == "native"
        if native:
            found.append(same("threads of the library itself", 1, blas.get("threads")))
        if runtime.matmul_backend == "mkl":
            layer = layer_of(path, readings) if native else blas.get("threading")
            found.append(same("MKL's threading layer", "sequential" if native else "gnu", layer))
        return found


def layer_of(path: str, readings: dict[str, Any]) -> str | None:
    """What makes the threads of the library at `path`, as threadpoolctl tells; None for nothing."""
    for pool in readings.get("threadpools") or []:
        if os.path.realpath(pool["filepath"]) == path:
            layer: str | None = pool.get("threading_layer")
            return layer
    return None


@functools.cache
def _why_not_onednn() -> str | None:
    """Why this interpreter's torch has no way to oneDNN; None where it has, or there is no torch.

    torch is not imported for it: the worker does that, and finds out for sure.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None  # asv's environment is going to have one
    file = Path(spec.origin).with_name(MENTIONED)
    name = PRIVATE.removeprefix("torch.ops.")
    if file.exists() and name in file.read_text():
        return None
    return f"this torch does not have {PRIVATE}, which trains through oneDNN in fp32"
