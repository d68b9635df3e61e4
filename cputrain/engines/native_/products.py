"""The library that multiplies in the place of the native engine's own code."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Self

from cputrain.engines import EngineError
from cputrain.engines.blas import KINDS, WHOLE, Cblas
from cputrain.engines.loading import function, loaded
from cputrain.experiment import Experiment
from cputrain.knobs.matmul import VARIABLE

SET_THREADS = {
    "openblas": ("scipy_openblas_set_num_threads", "openblas_set_num_threads"),
    "mkl": ("MKL_Set_Num_Threads",),
}
GET_THREADS = {
    "openblas": ("scipy_openblas_get_num_threads", "openblas_get_num_threads"),
    "mkl": ("MKL_Get_Max_Threads",),
}


class Given:
    """A library's cblas_sgemm, called by the C code's OpenMP threads, each for its own part.

    So the library itself keeps to one thread: those of two pools would fight for the CPUs.

    Args:
        name: as runtime.matmul_backend.
        path: of the library.

    Raises:
        EngineError: it cannot be loaded, or does not keep to one thread.

    Attributes:
        address: of its cblas_sgemm.
    """

    def __init__(self, name: str, path: str) -> None:
        kind = KINDS[name]
        if not issubclass(kind, Cblas):
            raise EngineError(f"matmul_backend = {name!r}: it has no cblas_sgemm")
        self.name = name
        self._about = kind(path)
        self._library = loaded(path)
        self.address = ctypes.cast(function(self._library, *kind.names), ctypes.c_void_p).value
        function(self._library, *SET_THREADS[name])(WHOLE(1))
        if self.threads != 1:
            raise EngineError(f"{path}: {name} does not keep to one thread, but {self.threads}")

    @classmethod
    def of(cls, experiment: Experiment) -> Self | None:
        """What the experiment asks for; None is the engine's own code."""
        backend = experiment.runtime.matmul_backend
        if backend == "default":
            return None
        if VARIABLE not in os.environ:
            raise EngineError(f"matmul_backend = {backend!r}: {VARIABLE} does not say where it is")
        return cls(backend, os.environ[VARIABLE])

    @property
    def threads(self) -> int:
        """That the library takes for one call, as it says itself."""
        return int(function(self._library, *GET_THREADS[self.name])())

    def described(self) -> dict[str, Any]:
        """Name, version, path and threads."""
        return {
            "name": self.name,
            "version": self._about.version(),
            "path": self._about.path,
            "threads": self.threads,
        }
