"""The matrix products of a compiled program: who multiplies them, and numbers of which type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cputrain.engines.jax_.hlo import Computation, Instruction, Module

UNCHANGED = ("bitcast", "convert", "copy", "reshape", "transpose")
"""Instructions that pass on the numbers of their one operand, if need be in another type."""
LIBRARIES = {"__ynn": "ynnpack", "__xnn": "xnnpack", "__onednn": "onednn"}
"""By how the kinds of their fusions begin."""


@dataclass(frozen=True)
class Product:
    """One product: the library, the numbers of its factors, and where it comes from.

    Attributes:
        library: ynnpack; onednn (as a call of its own); xla (XLA chooses: Eigen with oneDNN's
            kernels, or loops of its own).
        numbers: such as "f32", or "bf16 as f32": rounded to bf16, multiplied as f32.
        op_name: the JAX operation's path.
    """

    library: str
    numbers: str
    op_name: str


@dataclass(frozen=True)
class _Place:
    """A computation and, where that is a fusion's, the fusion and the place of that."""

    computation: Computation
    caller: Instruction | None = None
    outer: _Place | None = None


def products(module: Module) -> list[Product]:
    """Every product of the program; one in a loop's body counts once."""
    return [
        Product(name, _of_factors(module, place, instruction), instruction.op_name)
        for place, instruction, name in _dots(module)
    ]


def library(fusion: Instruction) -> str:
    """Who executes a fusion; "xla" writes the code itself."""
    libraries = (name for mark, name in LIBRARIES.items() if f'"{mark}' in fusion.attributes)
    return next(libraries, "xla")


def _dots(module: Module) -> Iterator[tuple[_Place, Instruction, str]]:
    for computation in module.executed():
        place = _Place(computation)
        for instruction in computation.instructions.values():
            if instruction.opcode == "dot":
                yield place, instruction, "xla"
            elif (
                instruction.opcode == "custom-call" and "__onednn$matmul" in instruction.attributes
            ):
                yield place, instruction, "onednn"
            elif instruction.opcode == "fusion":
                inner = _Place(module.computations[instruction.called[0]], instruction, place)
                for dot in inner.computation.instructions.values():
                    if dot.opcode == "dot":
                        yield inner, dot, library(instruction)


def _of_factors(module: Module, place: _Place, product: Instruction) -> str:
    types = []
    for name in product.operands[:2]:
        taken = place.computation.instructions[name].numbers
        original = _original(module, place, name)
        types.append(taken if original == taken else f"{original} as {taken}")
    return " x ".join(dict.fromkeys(types))


def _original(module: Module, place: _Place, name: str) -> str:
    """The type that the numbers `name` had before they were only moved and made f32."""
    instruction = place.computation.instructions[name]
    if instruction.numbers != "f32":
        return instruction.numbers
    if instruction.opcode in UNCHANGED:
        return _original(module, place, instruction.operands[0])
    if instruction.opcode == "parameter" and place.caller is not None and place.outer is not None:
        number = place.computation.parameter(name)
        return _original(module, place.outer, place.caller.operands[number])
    if instruction.opcode == "fusion":
        inner = _Place(module.computations[instruction.called[0]], instruction, place)
        return _original(module, inner, inner.computation.root)
    if instruction.opcode == "get-tuple-element":
        return _of_tuple(module, place, instruction)
    return instruction.numbers


def _of_tuple(module: Module, place: _Place, part: Instruction) -> str:
    """As `_original`, where a fusion has several results and `part` is one of them."""
    whole = place.computation.instructions[part.operands[0]]
    if whole.opcode != "fusion":
        return part.numbers
    inner = _Place(module.computations[whole.called[0]], whole, place)
    root = inner.computation.instructions[inner.computation.root]
    if root.opcode != "tuple":
        return part.numbers
    number = int(part.attributes.partition("index=")[2].partition(",")[0])
    return _original(module, inner, root.operands[number])
