"""The C library's functions and structures by ctypes; `src/native.c` and `src/about.c`."""

from __future__ import annotations

import ctypes
from typing import Any

from cputrain.engines.loading import function, loaded

WHOLE, LONG, WIDE, ADDRESS = ctypes.c_int, ctypes.c_long, ctypes.c_int64, ctypes.c_void_p
SINGLE, DOUBLE = ctypes.c_float, ctypes.c_double


class Sizes(ctypes.Structure):
    """struct sizes of gpt.h."""

    _fields_ = tuple(
        (name, WHOLE)
        for name in (
            *("n_layer", "n_embd", "n_head", "head_dim", "hidden", "vocab_size"),
            *("tied", "seq_len", "batch_size", "activation"),
        )
    )


class AdamW(ctypes.Structure):
    """struct adamw of adamw.h."""

    _fields_ = tuple((name, DOUBLE) for name in ("beta1", "beta2", "eps", "weight_decay"))


class Factor(ctypes.Structure):
    """struct factor of matmul.h."""

    _fields_ = (("at", ADDRESS), ("row", LONG), ("column", LONG))


BATCH = (ADDRESS, ADDRESS, WIDE)
COUNTED = ctypes.POINTER(LONG)
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "new": (ADDRESS, (Sizes, AdamW, ADDRESS)),
    "free": (None, (ADDRESS,)),
    "size": (LONG, (ADDRESS,)),
    "weights": (ADDRESS, (ADDRESS,)),
    "gradients": (ADDRESS, (ADDRESS,)),
    "loss": (DOUBLE, (ADDRESS, *BATCH, COUNTED)),
    "accumulate": (DOUBLE, (ADDRESS, *BATCH, SINGLE, WHOLE, COUNTED)),
    "update": (None, (ADDRESS, DOUBLE)),
    "steps": (LONG, (ADDRESS,)),
    "state_bytes": (LONG, (ADDRESS,)),
    "products": (None, (ADDRESS, ctypes.POINTER(LONG))),
    "multiply": (
        WHOLE,
        (*(WHOLE,) * 3, Factor, Factor, ADDRESS, LONG, WHOLE, ADDRESS, ADDRESS),
    ),
    "elementary": (None, (WHOLE, LONG, ADDRESS, ADDRESS)),
    "compiler": (ctypes.c_char_p, ()),
    "lanes": (WHOLE, ()),
    "threads": (WHOLE, ()),
    "team": (WHOLE, ()),
    "schedule": (None, (ctypes.POINTER(WHOLE),)),
    "openmp": (ADDRESS, ()),
    "flush_to_zero": (WHOLE, ()),
}
"""Result and arguments by name, "native_" left out."""


class Functions:
    """The functions of one built library, with their types.

    Args:
        path: of the library.

    Raises:
        EngineError: it cannot be loaded, or is of other sources.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        library = loaded(path)
        self._by_name = {}
        for name, (result, arguments) in FUNCTIONS.items():
            found = function(library, f"native_{name}")
            found.restype, found.argtypes = result, arguments
            self._by_name[name] = found

    def __getattr__(self, name: str) -> Any:
        try:
            return self._by_name[name]
        except KeyError:
            raise AttributeError(name) from None
