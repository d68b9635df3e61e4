"""The libraries that multiply fp32 matrices for the NumPy engine, through ctypes.

OpenBLAS and MKL by cblas_sgemm (netlib's cblas.h) with 32-bit whole numbers, oneDNN by
dnnl_sgemm (dnnl.h) with 64-bit ones. MKL's layers are chosen by the environment
(MKL_THREADING_LAYER, MKL_INTERFACE_LAYER) before its first call.
"""

from __future__ import annotations

import ctypes
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cputrain.engines import EngineError, verbose
from cputrain.engines.loading import function, loaded
from cputrain.machine.mapped import file_of

ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112
"""cblas.h."""
OPENMP = 2
"""DNNL_RUNTIME_OMP (dnnl_types.h): the threads are OpenMP's."""
WHOLE, WIDE, NUMBER, ADDRESS = ctypes.c_int, ctypes.c_int64, ctypes.c_float, ctypes.c_void_p


class Library(ABC):
    """A library that multiplies matrices.

    Attributes:
        name: as in runtime.matmul_backend.
        path: the file that its function really is in, links resolved.
        calls: products so far.
    """

    name = ""

    def __init__(self, path: str) -> None:
        self.calls = 0
        self._library = loaded(path)
        self._function = self._find_function()
        self.path = file_of(self._function)

    def sgemm(
        self,
        sizes: tuple[int, int, int],
        a: tuple[int, bool, int],
        b: tuple[int, bool, int],
        out: tuple[int, int],
    ) -> None:
        """out = a @ b, all in rows, fp32.

        Args:
            sizes: m, n, k of [m, k] @ [k, n].
            a, b: address, whether it lies transposed in memory, elements between its rows there.
            out: address, elements between rows.

        Raises:
            EngineError: the library refuses.
        """
        self.calls += 1
        self._call(a[1], b[1], (*sizes, 1.0, a[0], a[2], b[0], b[2], 0.0, out[0], out[1]))

    @contextmanager
    def watched(self) -> Iterator[dict[str, int]]:
        """Counts the products of this process meanwhile, by library; there at the end."""
        counted: dict[str, int] = {}
        with verbose.captured() as lines:
            self._talk(True)
            try:
                yield counted
            finally:
                self._talk(False)
        counted |= {name: n for name, n in verbose.by_library(lines).items() if n}

    @abstractmethod
    def version(self) -> str:
        """Of the library, as it says itself."""

    @abstractmethod
    def _find_function(self) -> Any:
        """The function that multiplies, with its arguments' types."""

    @abstractmethod
    def _call(self, a: bool, b: bool, rest: tuple[Any, ...]) -> None:
        """Multiply; a and b: whether the factors lie transposed."""

    def _talk(self, on: bool) -> None:
        """Let the library print what it executes, or not."""
        raise NotImplementedError


class Cblas(Library):
    """A library with cblas_sgemm."""

    names: tuple[str, ...] = ("cblas_sgemm",)

    def _find_function(self) -> Any:
        code = function(self._library, *self.names)
        code.restype = None
        matrix = (ADDRESS, WHOLE)
        code.argtypes = [*(WHOLE,) * 6, NUMBER, *matrix, *matrix, NUMBER, *matrix]
        return code

    def _call(self, a: bool, b: bool, rest: tuple[Any, ...]) -> None:
        kinds = (TRANSPOSED if a else PLAIN, TRANSPOSED if b else PLAIN)
        self._function(ROW_MAJOR, *kinds, *rest)


class OpenBlas(Cblas):
    """OpenBLAS. The wheel scipy-openblas32 puts "scipy_" before all its names."""

    name = "openblas"
    names = ("scipy_cblas_sgemm", "cblas_sgemm")

    @contextmanager
    def watched(self) -> Iterator[dict[str, int]]:
        """Counts the calls of its function, as it prints nothing."""
        counted = {self.name: -self.calls}
        yield counted
        counted[self.name] += self.calls

    def version(self) -> str:
        """Version and build settings."""
        config = function(self._library, "scipy_openblas_get_config", "openblas_get_config")
        config.restype = ctypes.c_char_p
        return bytes(config()).decode().strip()


class Mkl(Cblas):
    """MKL by its runtime library, libmkl_rt."""

    name = "mkl"

    def _find_function(self) -> Any:
        if os.environ.get("MKL_THREADING_LAYER") == "GNU":
            loaded("libgomp.so.1")  # MKL ends the process where it is missing
        return super()._find_function()

    def version(self) -> str:
        """Version and build date."""
        text = ctypes.create_string_buffer(198)
        function(self._library, "MKL_Get_Version_String")(text, WHOLE(len(text)))
        return text.value.decode().strip()

    def _talk(self, on: bool) -> None:
        # mkl_verbose in small letters is Fortran's, and takes an address.
        if function(self._library, "MKL_Verbose")(WHOLE(on)) < 0:
            raise EngineError(f"{self.path}: MKL does not print what it executes")


class _Version(ctypes.Structure):
    """dnnl_version_t."""

    _fields_ = (
        *((name, WHOLE) for name in ("major", "minor", "patch")),
        ("hash", ctypes.c_char_p),
        *((name, ctypes.c_uint) for name in ("cpu_runtime", "gpu_runtime")),
    )


class OneDnn(Library):
    """oneDNN built for OpenMP: builds for other threads do not follow OMP_NUM_THREADS."""

    name = "onednn"

    def _find_function(self) -> Any:
        runtime = self._about().cpu_runtime
        if runtime != OPENMP:
            rule = "a build for OpenMP is needed, such as that of pip install onednn-cpu-gomp"
            raise EngineError(f"{self._library._name}: CPU runtime {runtime}: {rule}")
        code = function(self._library, "dnnl_sgemm")
        code.restype = WHOLE
        matrix = (ADDRESS, WIDE)
        code.argtypes = [*(ctypes.c_char,) * 2, *(WIDE,) * 3, NUMBER, *matrix * 2, NUMBER, *matrix]
        return code

    def version(self) -> str:
        """Version and commit."""
        about = self._about()
        return f"{about.major}.{about.minor}.{about.patch} {about.hash.decode()}"

    def _call(self, a: bool, b: bool, rest: tuple[Any, ...]) -> None:
        if status := self._function(b"T" if a else b"N", b"T" if b else b"N", *rest):
            raise EngineError(f"dnnl_sgemm gave up with status {status} (dnnl_types.h)")

    def _talk(self, on: bool) -> None:
        if function(self._library, "dnnl_set_verbose")(WHOLE(on)):
            raise EngineError(f"{self.path}: oneDNN was built without printing what it executes")

    def _about(self) -> _Version:
        version = function(self._library, "dnnl_version")
        version.restype = ctypes.POINTER(_Version)
        contents: _Version = version().contents
        return contents


KINDS: dict[str, type[Library]] = {kind.name: kind for kind in (OpenBlas, Mkl, OneDnn)}
"""By runtime.matmul_backend."""
