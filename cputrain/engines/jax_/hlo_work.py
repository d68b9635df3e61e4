"""What work a compiled program does: products, random numbers, functions of activations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from cputrain.engines.jax_.hlo import Computation, Instruction, Module
from cputrain.engines.jax_.scopes import part_of

UNSEEN = ("custom-call", "convolution")
"""Instructions that may multiply matrices without a dot that says which."""
FUNCTION = re.compile(r"/(?:jit\((relu|silu)\)|(erf|tanh)$)")
"""In the path of an operation of an activation; a norm has none of these."""


def operations(module: Module) -> int | None:
    """Operations of the program's matrix products, a multiply-add as two.

    None where the text does not tell all of them: a library is called by name, a loop does not
    say how often it runs, or a product lies where nothing is known to run it.
    """
    if not _names_all_products(module):
        return None
    total, seen = 0, set()
    for name, times in module.runs().items():
        for computation, dot in _dots(module, module.computations[name]):
            if times is None:
                return None
            seen.add(id(dot))
            total += times * _of_one(computation, dot)
    dots = sum(instruction.opcode == "dot" for instruction in _everything(module))
    return total if len(seen) == dots else None


def side_by_side(module: Module) -> list[int] | None:
    """How many matrices its products multiply at once, each number above 1 once.

    None where a library is called by name.
    """
    if not _names_all_products(module):
        return None
    numbers = {
        math.prod(dot.shapes[0][1][: len(dot.places("lhs_batch_dims"))])
        for computation in module.executed()
        for _, dot in _dots(module, computation)
    }
    return sorted(numbers - {1})


def drawn(module: Module) -> int | None:
    """Random bits of 32 that its generators draw, or more; None where the text does not tell.

    A generator that runs in one place only is no computation of its own: there its blocks of four
    count where they are put together, which rounds up.
    """
    runs = module.runs()
    running = [(name, i) for name in runs for i in module.computations[name].instructions.values()]
    own = {called for _, i in running if _draws(i) for called in i.called}
    drawing = [(name, i) for name, i in running if _draws(i)]
    for name in runs.keys() - own:
        inside = _with_fused(module, module.computations[name])
        drawing += [(name, i) for i in inside if i.opcode == "concatenate" and _is_random(i)]
    total = 0
    for name, instruction in drawing:
        if (times := runs[name]) is None:
            return None
        total += times * sum(math.prod(s) for kind, s in instruction.shapes if kind == "u32")
    return total or None


def functions(module: Module) -> list[str] | None:
    """Which of erf, tanh, relu and silu activations call; None where no path tells a part.

    By JAX's names in the paths: XLA may write a function as others.
    """
    called, is_told = set(), False
    for instruction in _everything(module):
        for path in instruction.op_name.split(";"):
            if part_of(path) == "elementwise":
                is_told = True
                called |= {a or b for a, b in FUNCTION.findall(path)}
    return sorted(called) if is_told else None


def _everything(module: Module) -> Iterator[Instruction]:
    for computation in module.computations.values():
        yield from computation.instructions.values()


def _names_all_products(module: Module) -> bool:
    return not any(instruction.opcode in UNSEEN for instruction in _everything(module))


def _draws(instruction: Instruction) -> bool:
    """A generator, as JAX wrote it or as XLA has made a computation of it."""
    if instruction.opcode == "rng-bit-generator":
        return True
    return instruction.opcode == "call" and _is_random(instruction)


def _is_random(instruction: Instruction) -> bool:
    return instruction.op_name.endswith("/rng_bit_generator")


def _with_fused(module: Module, computation: Computation) -> Iterator[Instruction]:
    for instruction in computation.instructions.values():
        yield instruction
        if instruction.opcode == "fusion":
            yield from _with_fused(module, module.computations[instruction.called[0]])


def _dots(module: Module, computation: Computation) -> Iterator[tuple[Computation, Instruction]]:
    """Its products with the computations that their factors are in: its own, or a fusion's."""
    for instruction in computation.instructions.values():
        if instruction.opcode == "dot":
            yield computation, instruction
        elif instruction.opcode == "fusion":
            yield from _dots(module, module.computations[instruction.called[0]])


def _of_one(computation: Computation, dot: Instruction) -> int:
    factor = computation.instructions[dot.operands[0]].shapes[0][1]
    summed = math.prod(factor[place] for place in dot.places("lhs_contracting_dims"))
    return 2 * math.prod(dot.shapes[0][1]) * summed
