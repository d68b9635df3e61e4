"""The optional libraries: what their files are called, what brings each, which file can serve.

Standard library only.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path

X86_64 = "x86_64"


@dataclass(frozen=True)
class OptionalLibrary:
    """One library, and what brings it.

    Attributes:
        stems: its file's name before ".so", the one to prefer first.
        majors: the versions after ".so." that are known to do.
        wheel: the requirement that brings it; "" is none.
        machines: what the wheel is for, as `platform.machine()` says; empty is all.
        folder: where the wheel puts it, below site-packages; "" is the environment's lib.
        debian, fedora: the system's packages; "" is none.
        preloaded: loaded by LD_PRELOAD, which cannot take every path.
    """

    stems: tuple[str, ...]
    majors: tuple[int, ...] = ()
    wheel: str = ""
    machines: tuple[str, ...] = ()
    folder: str = ""
    debian: str = ""
    fedora: str = ""
    preloaded: bool = False

    def rank(self, file: str) -> tuple[int, list[int]] | None:
        """How good a file's name is, the least the best; None where it is something else's."""
        for index, stem in enumerate(self.stems):
            if match := re.fullmatch(rf"{re.escape(stem)}\.so((?:\.\d+)*)", file):
                version = [int(part) for part in match[1].split(".")[1:]]
                if not version or version[0] in self.majors:
                    return index, [*(-part for part in version), 1]
        return None

    @property
    def has_wheel(self) -> bool:
        """Whether there is a wheel for this machine."""
        return bool(self.wheel) and platform.machine() in (self.machines or (platform.machine(),))


LIBRARIES = {
    "libiomp5": OptionalLibrary(
        ("libiomp5",), wheel="intel-openmp==2026.2.0", machines=(X86_64,), preloaded=True
    ),
    "mkl": OptionalLibrary(("libmkl_rt",), (3, 2), wheel="mkl==2026.2.0", machines=(X86_64,)),
    "openblas": OptionalLibrary(
        ("libscipy_openblas",),
        wheel="scipy-openblas32==0.3.34.481.3",
        folder="scipy_openblas32/lib",
    ),
    "onednn": OptionalLibrary(
        ("libdnnl",), (3,), wheel="onednn-cpu-gomp==2023.2.0", machines=(X86_64,)
    ),
    "jemalloc": OptionalLibrary(
        ("libjemalloc",), (2,), debian="libjemalloc2", fedora="jemalloc", preloaded=True
    ),
    "tcmalloc": OptionalLibrary(
        ("libtcmalloc_minimal", "libtcmalloc"),
        (4,),
        debian="libtcmalloc-minimal4",
        fedora="gperftools-libs",
        preloaded=True,
    ),
    "mimalloc": OptionalLibrary(
        ("libmimalloc",),
        (3, 2),
        wheel="cmeel-mimalloc==3.4.3",
        folder="cmeel.prefix/lib",
        preloaded=True,
    ),
}
"""By name: every library that a setting may need."""


def fault(name: str, path: Path) -> str | None:
    """Why the file at `path` cannot serve as library `name`; None where it can."""
    if not path.is_absolute():
        return "an absolute path is needed"
    if LIBRARIES[name].preloaded and set(str(path)) & set(" :\n"):
        return "the loader cannot preload a path with a space or colon: copy the file elsewhere"
    try:
        header, own = _header(path), _header(Path("/proc/self/exe"))
    except OSError as error:
        return error.strerror or str(error)
    shared = header[16:18] in (b"\3\0", b"\0\3")  # ET_DYN in either byte order
    if header[:4] != b"\x7fELF" or not shared:
        return "not a shared library"
    if (header[4:6], header[18:20]) != (own[4:6], own[18:20]):  # word size, byte order, machine
        return "a shared library of another kind of machine"
    return None


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(20)
