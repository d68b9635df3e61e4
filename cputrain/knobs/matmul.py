"""Which library multiplies matrices, where an engine calls one for every product."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any

from cputrain import environ
from cputrain.knobs.inforce import Check, same
from cputrain.knobs.knob import Knob, Placement
from cputrain.machine import library_search

if TYPE_CHECKING:
    from cputrain.experiment import Experiment

VARIABLE = environ.MATMUL_LIBRARY
"""Tells the NumPy engine and the native one where the library is."""
X86 = ("x86_64", "AMD64", "i686")
MKL_LAYERS = {"MKL_THREADING_LAYER": "GNU", "MKL_INTERFACE_LAYER": "LP64"}
"""GNU's OpenMP follows OMP_NUM_THREADS, which MKL's layer of TBB threads does not; LP64 has
whole numbers of 32 bits."""


class Matmul(Knob):
    """Which library multiplies matrices: one that is loaded beside the engine, for every product.

    In force by the engine's own count of its products, and here by the library's file and threads.
    """

    def why_not(self, experiment: Experiment) -> str | None:
        """The library is not there, or not for this machine."""
        backend = experiment.runtime.matmul_backend
        if backend == "default":
            return None
        return why_no_mkl(backend) or library_search.why_not(backend)

    def environment(self, experiment: Experiment, placement: Placement) -> dict[str, str]:
        """The library's path, and MKL's layers."""
        backend = experiment.runtime.matmul_backend
        if backend == "default":
            return {}
        return {VARIABLE: str(library_search.find(backend))} | self.threading(backend)

    def threading(self, backend: str) -> dict[str, str]:
        """What makes the library's threads."""
        return MKL_LAYERS if backend == "mkl" else {}

    def checks(
        self, experiment: Experiment, placement: Placement, readings: dict[str, Any]
    ) -> list[Check]:
        """The library's file, and its threads."""
        backend, blas = experiment.runtime.matmul_backend, readings.get("blas") or {}
        if backend == "default":
            return []
        path = same("library of matrix products", library_path(), blas.get("path"))
        return [path, *self.checks_of_threads(backend, readings)]

    def checks_of_threads(self, backend: str, readings: dict[str, Any]) -> list[Check]:
        """What makes MKL's threads."""
        blas = readings.get("blas") or {}
        if backend != "mkl":
            return []
        return [same("MKL's threading layer", "gnu", blas.get("threading"))]


def library_path() -> str:
    """The real path of the library that this process was given; empty without."""
    return os.path.realpath(os.environ.get(VARIABLE, ""))


def why_no_mkl(backend: str) -> str | None:
    """Why MKL cannot be here, where it is `backend`."""
    machine = platform.machine()
    if backend == "mkl" and machine not in X86:
        return f"MKL is for x86 processors only, and this is {machine}"
    return None
