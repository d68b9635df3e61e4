"""Which files are mapped into this process: the libraries that are really loaded.

Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from cputrain.machine import reading

OPENMP = ("libgomp", "libiomp5", "libomp")
"""GNU's runtime, Intel's, and LLVM's, from which Intel's is made."""
DELETED = " (deleted)"
"""What the kernel appends where a file was removed or replaced after it was mapped."""


def files(root: Path = reading.ROOT) -> list[str]:
    """The mapped files' paths, links resolved as the kernel does, each once, by address.

    Raises:
        Unknown: /proc/self/maps cannot be read.
    """
    paths: dict[str, None] = {}
    for line in reading.text(root, "/proc/self/maps").splitlines():
        fields = line.split(maxsplit=5)  # the path may hold spaces
        if len(fields) == 6 and fields[5].startswith("/"):
            paths[fields[5].removesuffix(DELETED)] = None
    return list(paths)


def libraries(*names: str, root: Path = reading.ROOT) -> list[str]:
    """Paths of the mapped libraries of these names, whatever their version.

    "libgomp" is libgomp.so, libgomp.so.1 and the libgomp-a34b3233.so.1 of a wheel.

    Raises:
        Unknown: /proc/self/maps cannot be read.
    """
    pattern = re.compile(rf"({'|'.join(map(re.escape, names))})(-[\w.-]+)?\.so(\.[\w.]+)?")
    return [path for path in files(root) if pattern.fullmatch(PurePosixPath(path).name)]


def openmp_runtimes(root: Path = reading.ROOT) -> list[str]:
    """Paths of the OpenMP runtimes that are loaded; more than one may be, and one is called.

    Which one that is, `cputrain.machine.openmp.serving` tells.

    Raises:
        Unknown: /proc/self/maps cannot be read.
    """
    return libraries(*OPENMP, root=root)


class _Symbol(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def file_of(function: Any) -> str:
    """The file that a function of a loaded library is really in, links resolved.

    Raises:
        Unknown: it is in none.
    """
    libc, symbol = ctypes.CDLL(None), _Symbol()
    libc.dladdr.argtypes = (ctypes.c_void_p, ctypes.POINTER(_Symbol))
    if not libc.dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(symbol)):
        raise reading.Unknown("a function of a library is in no file")
    return str(Path(os.fsdecode(symbol.file)).resolve())
