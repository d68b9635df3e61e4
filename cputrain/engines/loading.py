"""Functions of shared libraries: loaded, found, and which file they are really in."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from cputrain.engines import EngineError


class _Symbol(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def loaded(path: str) -> ctypes.CDLL:
    """The library at a path, or of a name that the loader knows.

    Raises:
        EngineError: it is not there, or something that it needs is not.
    """
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        if "libgomp" in str(error):
            rule = "apt install libgomp1 (Fedora: dnf install libgomp)"
            raise EngineError(f"{path}: GNU's OpenMP is needed: {rule}") from error
        raise EngineError(f"{path} cannot be loaded: {error}") from error


def function(library: ctypes.CDLL, *names: str) -> Any:
    """The first of these functions that a library has. Raises EngineError without any."""
    for name in names:
        if hasattr(library, name):
            return getattr(library, name)
    raise EngineError(f"{library._name} has no {' or '.join(names)}")


def file_of(code: Any) -> str:
    """The file that a function's code is in, links resolved."""
    symbol = _Symbol()
    address = ctypes.cast(code, ctypes.c_void_p)
    if not ctypes.CDLL(None).dladdr(address, ctypes.byref(symbol)):
        raise EngineError("a library's function is in no file")
    return str(Path(os.fsdecode(symbol.file)).resolve())
