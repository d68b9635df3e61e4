"""The C library's functions, structures and constants by ctypes.

`src/native.c`, `src/about.c` and `src/constants.c`. The library tells its constants; what Python
says of them too, to lay out structures and to count on paper, is held against that.
"""

from __future__ import annotations

import ctypes
from typing import Any

from cputrain.engines import EngineError
from cputrain.engines.loading import function, loaded
from cputrain.model import native

WHOLE, LONG, WIDE, ADDRESS = ctypes.c_int, ctypes.c_long, ctypes.c_int64, ctypes.c_void_p
SINGLE, DOUBLE = ctypes.c_float, ctypes.c_double


class Sizes(ctypes.Structure):
    """struct sizes of gpt.h; `activation` is of its enum, see `Functions.constants`."""

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
    "forward": (DOUBLE, (ADDRESS, *BATCH, SINGLE, COUNTED)),
    "backward": (None, (ADDRESS, ADDRESS, WHOLE)),
    "first": (ADDRESS, (ADDRESS,)),
    "second": (ADDRESS, (ADDRESS,)),
    "set_steps": (None, (ADDRESS, LONG)),
    "clip": (DOUBLE, (ADDRESS, DOUBLE)),
    "update": (None, (ADDRESS, DOUBLE)),
    "watch": (None, (ADDRESS, WHOLE)),
    "phases": (None, (ADDRESS, ctypes.POINTER(DOUBLE), ctypes.POINTER(LONG))),
    "steps": (LONG, (ADDRESS,)),
    "state_bytes": (LONG, (ADDRESS,)),
    "products": (None, (ADDRESS, ctypes.POINTER(LONG))),
    "multiply": (
        WHOLE,
        (*(WHOLE,) * 3, Factor, Factor, ADDRESS, LONG, WHOLE, ADDRESS, ADDRESS),
    ),
    "elementary": (None, (WHOLE, LONG, ADDRESS, ADDRESS)),
    "constant": (ctypes.c_char_p, (WHOLE, ctypes.POINTER(LONG))),
    "compiler": (ctypes.c_char_p, ()),
    "lanes": (WHOLE, ()),
    "threads": (WHOLE, ()),
    "team": (WHOLE, ()),
    "schedule": (None, (ctypes.POINTER(WHOLE),)),
    "openmp": (ADDRESS, ()),
    "stack_needed": (LONG, ()),
    "stack_left": (LONG, ()),
    "flush_to_zero": (WHOLE, ()),
}
"""Result and arguments by name, "native_" left out."""


class Functions:
    """The functions of one built library, with their types.

    Args:
        path: of the library.

    Attributes:
        constants: what the library tells by name: the enum's value of each "activation.NAME" and
            "phase.NAME", "align" (numbers to which tensors are aligned), "queries" and "keys"
            (rows of blocks in attention), "panel" (columns of a packed factor), "packed" (numbers
            packed at a time), and of structures the bytes ("sizes") and where fields start
            ("sizes.n_layer").

    Raises:
        EngineError: it cannot be loaded, or has other functions or constants than Python's side.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        library = loaded(path)
        self._by_name = {}
        for name, (result, arguments) in FUNCTIONS.items():
            native_function = function(library, f"native_{name}")
            native_function.restype, native_function.argtypes = result, arguments
            self._by_name[name] = native_function
        self.constants = self._read_constants()
        self._check()

    def _read_constants(self) -> dict[str, int]:
        constants: dict[str, int] = {}
        value = LONG()
        while (name := self.constant(len(constants), value)) is not None:
            constants[name.decode()] = value.value
        return constants

    def _check(self) -> None:
        """Hold what Python says itself against the library."""
        expected = {
            "queries": native.QUERIES,
            "keys": native.KEYS,
            "packed": native.PACKED,
            # Of the widest registers: fewer in a library for others, which then takes less memory.
            "panel": min(native.PANEL, self.constants["panel"]),
        }
        for structure in (Sizes, AdamW, Factor):
            name = structure.__name__.lower()
            expected[name] = ctypes.sizeof(structure)
            for field, *_ in structure._fields_:
                expected[f"{name}.{field}"] = getattr(structure, field).offset
        for name, number in expected.items():
            if self.constants.get(name) != number:
                raise EngineError(
                    f"{self.path}: {name} is {self.constants.get(name)} in the library and {number}"
                    " in cputrain.model.native or engines.native_.binding: make them the same"
                )

    def __getattr__(self, name: str) -> Any:
        try:
            return self._by_name[name]
        except KeyError:
            raise AttributeError(name) from None
