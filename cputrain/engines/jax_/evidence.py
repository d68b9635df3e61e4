"""What a compiled training step executes, read from the program that XLA made of it."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from typing import Any, NamedTuple

import jax

from cputrain.engines.jax_ import hlo_work, programs
from cputrain.engines.jax_.attention import BY_HAND
from cputrain.engines.jax_.hlo import Instruction, Module, parse
from cputrain.engines.jax_.hlo_products import library, products
from cputrain.engines.jax_.schema import JaxEvidence
from cputrain.machine import threads
from cputrain.record.evidence import SHARE_DIGITS

NO_WORK = ("parameter", "constant", "bitcast", "tuple", "get-tuple-element")
"""Instructions that compute and copy nothing."""
FUSED_ATTENTION = ("BTNH,BSNH->BNTS", "BNTS,BSNH->BTNH")
"""In the paths of the two products of jax.nn.dot_product_attention, and of what follows them."""
AGAIN = "rematted_computation"
"""In the paths of what jax.checkpoint computes again."""
RANDOM = re.compile(r"threefry|random_bits|_bernoulli|_uniform|rng_bit_generator")
FEATURES = re.compile(rb"\+64bit[\w.+,\-]*")
VECTORS = re.compile(r"\+((?:sse|avx|fma|f16c|amx)[\w.\-]*)")


def readings() -> dict[str, Any]:
    """What JAX reports: its devices and flags, and the threads of XLA's pool, which is there.

    "pool_threads" is 0 before the first device is used.
    """
    return {
        "devices": [str(device) for device in jax.devices()],
        "platforms": [device.platform for device in jax.devices()],
        "pool_threads": len(threads.named(threads.XLA_POOL)),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def look(compiled: jax.stages.Compiled) -> JaxEvidence:
    """What one run of the compiled step executes."""
    module = parse(compiled.as_text())
    multiplied, loops = products(module), _loops(module)
    donated, fresh = _results(module)
    return JaxEvidence(
        ops=dict(Counter(instruction.opcode for instruction in _running(module))),
        loops=loops.own,
        loops_of_several=loops.own_of_several,
        calls_of_several=loops.library_calls_of_several,
        products_by_library=dict(Counter(product.library for product in multiplied)),
        products_by_numbers=dict(Counter(product.numbers for product in multiplied)),
        fused_attention=_fused_attention(module),
        computed_again=sum(AGAIN in product.op_name for product in multiplied),
        random=_random(module),
        dropped=_dropped(module),
        donated=donated,
        not_donated=fresh,
        program=programs.counted(module.name.removeprefix("jit_")),
        target=_target(),
        operations=hlo_work.operations(module),
        side_by_side=hlo_work.side_by_side(module),
        by_hand=sum(BY_HAND in instruction.op_name for instruction in _working(module)),
        functions=hlo_work.functions(module),
        drawn=hlo_work.drawn(module),
    )


class Loops(NamedTuple):
    """Instructions that run as loops.

    Attributes:
        own: those of which XLA writes the code.
        own_of_several: of these, those that do more than one operation.
        library_calls_of_several: calls of libraries that do more than one.
    """

    own: int
    own_of_several: int
    library_calls_of_several: int


def _running(module: Module) -> list[Instruction]:
    return [
        instruction
        for computation in module.executed()
        for instruction in computation.instructions.values()
        if instruction.opcode not in NO_WORK
    ]


def _loops(module: Module) -> Loops:
    own = own_of_several = library_calls_of_several = 0
    for instruction in _running(module):
        if instruction.opcode != "fusion":
            continue
        inside = module.computations[instruction.called[0]].instructions.values()
        several = sum(inner.opcode not in NO_WORK for inner in inside) > 1
        if library(instruction) == "xla":
            own += 1
            own_of_several += several
        else:
            library_calls_of_several += several
    return Loops(own, own_of_several, library_calls_of_several)


def _working(module: Module) -> list[Instruction]:
    """Fused ones too, which are in no running computation."""
    return [
        instruction
        for computation in module.computations.values()
        for instruction in computation.instructions.values()
        if instruction.opcode not in NO_WORK
    ]


def _fused_attention(module: Module) -> int:
    return sum(
        any(mark in instruction.op_name for mark in FUSED_ATTENTION)
        for instruction in _working(module)
    )


def _random(module: Module) -> int:
    return sum(
        instruction.opcode.startswith("rng") or RANDOM.search(instruction.op_name) is not None
        for instruction in _working(module)
    )


def _dropped(module: Module) -> list[float]:
    """The shares that masks of `layers.factors` drop: of random bits below a limit."""
    shares = set()
    for name, computation in module.computations.items():
        for instruction in computation.instructions.values():
            if instruction.opcode != "compare" or "direction=GE" not in instruction.attributes:
                continue
            bits, limit = instruction.operands
            if computation.instructions[bits].numbers == "u32":
                number = module.constant(name, limit) or ""
                shares |= {round(int(number) / 2**32, SHARE_DIGITS)} if number.isdigit() else set()
    return sorted(shares)


def _results(module: Module) -> tuple[int, list[str]]:
    """Numbers written over the inputs; shapes of results in new memory, without single numbers."""
    sizes = [(numbers, shape, math.prod(shape)) for numbers, shape in module.outputs()]
    donated = sum(sizes[place][2] for place in module.aliases)
    fresh = [
        f"{numbers}{list(shape)}"
        for place, (numbers, shape, size) in enumerate(sizes)
        if place not in module.aliases and size > 1
    ]
    return donated, fresh


def _target() -> list[str]:
    """From a small program, where it stands to be held against a CPU; all of a process have it.

    The step's own cannot be written: its temporary numbers lie in several blocks (`options`).
    """
    small = jax.jit(lambda x: x + 1).lower(jax.ShapeDtypeStruct((), "float32")).compile()
    return target(small.runtime_executable())


def target(executable: Any) -> list[str]:
    """Vector instructions from an executable as XLA writes it to disk.

    Empty where JAX does not write it (0.8.0 is such a release): nothing proves a cap there, so
    cells whose instructions are capped fail.
    """
    if not hasattr(executable, "serialize"):
        return []
    features = FEATURES.search(executable.serialize())
    return vectors(features[0].decode()) if features else []


def vectors(features: str) -> list[str]:
    """The vector instructions of a list of LLVM's, as "+avx,+avx10.1,-avx512f".

    LLVM reads it in order, and what is taken away takes away all that implies it (ClearImpliedBits
    in MCSubtargetInfo.cpp): AVX10 implies AVX-512F. XLA's cap of AVX2 names the latter alone.
    """
    given = VECTORS.findall(features)
    if features.rfind("-avx512f") > features.rfind("+avx10"):
        return [name for name in given if not name.startswith("avx10")]
    return given
