"""What MKL and oneDNN say of the instructions that they use, asked through ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

CBWR_BRANCH = 1
"""mkl_service.h: the code path of MKL's conditional numerical reproducibility."""
CBWR = {1: "off", 2: "AUTO", 3: "COMPATIBLE", 4: "SSE2"}
"""mkl_service.h, in part."""
DNNL_ISA = {0x1: "SSE4.1", 0x3: "AVX", 0x7: "AVX2", 0xF: "AVX2-VNNI", 0x27: "AVX-512"}
"""dnnl_types.h, in part: dnnl_cpu_isa_t."""


class _MklVersion(ctypes.Structure):
    """MKLVersion of mkl_types.h."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("major", "minor", "update")),
        *((name, ctypes.c_char_p) for name in ("status", "build", "processor", "platform")),
    )


def mkl(library: ctypes.CDLL) -> dict[str, str | None]:
    """`mkl`: the processors that its code path is for. `mkl_mode`: its reproducibility mode.

    On CPUs not of Intel's make the first is "Intel(R) Architecture processors", which says
    nothing. None where this build of MKL, or whatever `library` is linked with, does not tell.
    """
    report: dict[str, str | None] = {"mkl": None, "mkl_mode": None}
    # torch has MKL inside, where only the inner names are left.
    if version := _function(library, "MKL_Get_Version", "mkl_serv_get_version"):
        build = _MklVersion()
        version(ctypes.byref(build))
        report["mkl"] = build.processor.decode() if build.processor else None
    if mode := _function(library, "MKL_CBWR_Get", "mkl_serv_cbwr_get"):
        code = mode(CBWR_BRANCH)
        report["mkl_mode"] = CBWR.get(code, str(code))
    return report


def onednn(library: ctypes.CDLL) -> str | None:
    """The most that oneDNN uses; None where `library` does not export it, as in torch."""
    if isa := _function(library, "dnnl_get_effective_cpu_isa"):
        code = isa()
        return DNNL_ISA.get(code, hex(code))
    return None


def _function(library: ctypes.CDLL, *names: str) -> Any:
    """The first of these that there is; None without."""
    return next((getattr(library, name) for name in names if hasattr(library, name)), None)
