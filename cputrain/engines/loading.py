"""Functions of shared libraries: loaded and found."""

from __future__ import annotations

import ctypes
from typing import Any

from cputrain.engines import EngineError


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
