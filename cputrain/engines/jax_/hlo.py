"""The optimized program that XLA compiled, read from its text (HLO)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

COMPUTATION = re.compile(r"(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{")
INSTRUCTION = re.compile(r"  (ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([a-z][\w\-]*)\((.*)")
OPERAND = re.compile(r"%([\w.\-]+)")
CALLED = re.compile(
    r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%([\w.\-]+)"
)
BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
ALIASES = re.compile(r"\{(\d*)\}: \(\d+, \{\}, \w+-alias\)")
SHAPE = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
RUNS = ("while", "call", "conditional")
"""Instructions that run another computation as it is; a fusion's is one loop, a reduction's is
what it does to two numbers."""

REPEATS = ("broadcast", "bitcast", "reshape", "copy")
"""Instructions whose result has the numbers of their operand, and no others."""


@dataclass(frozen=True)
class Instruction:
    """One line: `shapes` has one (type of numbers, dimensions) for each part of the result."""

    name: str
    opcode: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    operands: tuple[str, ...]
    attributes: str

    @property
    def numbers(self) -> str:
        """The type of its numbers, of the first part where there are several."""
        return self.shapes[0][0] if self.shapes else ""

    @property
    def called(self) -> list[str]:
        """The computations that it names."""
        branches = BRANCHES.search(self.attributes)
        return CALLED.findall(self.attributes) + OPERAND.findall(branches[1] if branches else "")

    @property
    def times(self) -> int | None:
        """How often it runs what it calls; None where the text does not say."""
        if self.opcode == "while":
            trips = TRIPS.search(self.attributes)
            return int(trips[1]) if trips else None
        return None if self.opcode == "conditional" else 1

    def places(self, attribute: str) -> tuple[int, ...]:
        """Axes that an attribute of it lists, as lhs_batch_dims; none without the attribute."""
        listed = re.search(rf"\b{attribute}=\{{([\d,]*)\}}", self.attributes)
        return tuple(int(place) for place in listed[1].split(",") if place) if listed else ()

    @property
    def op_name(self) -> str:
        """The path of the JAX operation that it comes from; empty for what XLA added."""
        name = re.search(r'op_name="([^"]*)"', self.attributes)
        return name[1] if name else ""


@dataclass
class Computation:
    """Instructions by name, in order; `root` is the result."""

    instructions: dict[str, Instruction] = field(default_factory=dict)
    root: str = ""

    def parameter(self, name: str) -> int:
        """The number of the parameter that `name` is."""
        return int(self.instructions[name].attributes.partition(")")[0])


@dataclass
class Module:
    """A compiled program: its computations by name, of which `entry` starts."""

    name: str
    computations: dict[str, Computation]
    entry: str
    aliases: frozenset[int]
    """The outputs that take an input's memory."""

    def executed(self) -> Iterator[Computation]:
        """The entry and what it runs, such as a loop's body; each once."""
        waiting, seen = [self.entry], set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            yield self.computations[name]
            for instruction in self.computations[name].instructions.values():
                if instruction.opcode in RUNS:
                    waiting += instruction.called

    def runs(self) -> dict[str, int | None]:
        """How often each computation of `executed` runs; None where the text does not say."""
        times: dict[str, int | None] = {}
        waiting: list[tuple[str, int | None]] = [(self.entry, 1)]
        while waiting:
            name, outer = waiting.pop()
            before = times.get(name, 0)
            times[name] = None if outer is None or before is None else before + outer
            for instruction in self.computations[name].instructions.values():
                if instruction.opcode in RUNS:
                    inner = instruction.times
                    both = None if outer is None or inner is None else outer * inner
                    waiting += [(called, both) for called in instruction.called]
        return times

    def outputs(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Type of numbers and dimensions of each result."""
        entry = self.computations[self.entry]
        return entry.instructions[entry.root].shapes

    def constant(self, computation: str, name: str) -> str | None:
        """The one number that an instruction's result has everywhere, as the text writes it.

        None where it is not known from the text. Looks into fusions, and out of them.
        """
        instruction = self.computations[computation].instructions[name]
        if instruction.opcode == "constant":
            return instruction.attributes.partition(")")[0]
        if instruction.opcode in REPEATS:
            return self.constant(computation, instruction.operands[0])
        if instruction.opcode == "fusion":
            (called,) = instruction.called
            return self.constant(called, self.computations[called].root)
        if instruction.opcode == "parameter":
            number = self.computations[computation].parameter(name)
            for caller, its in self.computations.items():
                for call in its.instructions.values():
                    if call.opcode == "fusion" and computation in call.called:
                        return self.constant(caller, call.operands[number])
        return None


def parse(text: str) -> Module:
    """A module's text, as `jax.stages.Compiled.as_text` gives it.

    Raises:
        ValueError: there is no entry: this is not such a text.
    """
    header = text.partition("\n")[0]
    aliases = frozenset(int(number or 0) for number in ALIASES.findall(header))
    module = Module(header.split()[1].rstrip(","), {}, "", aliases)
    computation: Computation | None = None
    for line in text.splitlines():
        if match := COMPUTATION.match(line):
            computation = module.computations[match[2]] = Computation()
            if match[1]:
                module.entry = match[2]
        elif line.startswith("}"):
            computation = None
        elif computation is not None and (match := INSTRUCTION.match(line)):
            root, name, kind, opcode, rest = match.groups()
            inside = rest.partition(")")[0]
            computation.instructions[name] = Instruction(
                name, opcode, _shapes(kind), tuple(OPERAND.findall(inside)), rest
            )
            if root:
                computation.root = name
    if not module.entry:
        raise ValueError("no ENTRY in the text of the compiled program")
    return module


def _shapes(kind: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple(
        (numbers, tuple(int(size) for size in sizes.split(",") if size))
        for numbers, sizes in SHAPE.findall(kind)
    )
