"""How a shared library says that it was built: compiler and switches, from its ELF sections.

Compilers leave their names in `.comment`; with -frecord-gcc-switches GCC and clang leave the
switches in `.GCC.command.line`. Standard library only.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from cputrain.machine.reading import Unknown

COMMENT, SWITCHES, LINKED = ".comment", ".GCC.command.line", ".dynstr"
HEADER = "<4sBBB9xHHIQQQIHHHHHH"
"""Elf64_Ehdr; see elf(5)."""
SECTION = "<IIQQQQIIQQ"
"""Elf64_Shdr."""


@dataclass(frozen=True)
class Built:
    """A library's own record of its making.

    Attributes:
        compiler: "g++" or "clang++" (or gcc or clang: they leave the same name).
        switches: of each object file that was linked; empty where none were recorded.
    """

    compiler: str
    switches: tuple[tuple[str, ...], ...]

    def last(self, pattern: str) -> list[str]:
        """What `pattern`'s group matches in the last switch that it fits whole, of each object.

        Of several levels or architectures compilers take the last. "" where none fits.
        """
        values = set()
        for switches in self.switches:
            fits = [match[1] for switch in switches if (match := re.fullmatch(pattern, switch))]
            values.add(fits[-1] if fits else "")
        return sorted(values)


def read(path: Path) -> Built:
    """The record in the library `path`.

    Raises:
        Unknown: it is no 64-bit ELF file of this byte order, or names no compiler.
    """
    sections = _sections(path)
    names = _strings(sections.get(COMMENT, b""))
    # The C library's start files, which GCC compiled, are in every library.
    clang = [name for name in names if "clang version" in name]
    gcc = [name for name in names if name.startswith("GCC:")]
    if not clang and not gcc:
        raise Unknown(f"{path.name}: names no compiler")
    records = _strings(sections.get(SWITCHES, b""))
    if not any(" " in record for record in records):
        records = [" ".join(records)] if records else []  # GCC before 11: a string for each
    switches = tuple(tuple(record.split()) for record in records)
    return Built("clang++" if clang else "g++", switches)


def linked_names(path: Path) -> list[str]:
    """The names that the dynamic linker sees in the library `path`: what it has and what it calls.

    Raises:
        Unknown: it is no 64-bit ELF file of this byte order.
    """
    return _strings(_sections(path).get(LINKED, b""))


def _sections(path: Path) -> dict[str, bytes]:
    data = path.read_bytes()
    if len(data) < struct.calcsize(HEADER) or data[:6] != b"\x7fELF\x02\x01":
        raise Unknown(f"{path.name}: no 64-bit ELF file")
    header = struct.unpack_from(HEADER, data)
    start, size, count, names_at = header[9], header[14], header[15], header[16]
    try:
        tables = [struct.unpack_from(SECTION, data, start + n * size) for n in range(count)]
    except struct.error as error:
        raise Unknown(f"{path.name}: cut short") from error
    contents = [data[table[4] : table[4] + table[5]] for table in tables]
    sections = {}
    for table, content in zip(tables, contents, strict=True):
        name = contents[names_at][table[0] :].partition(b"\0")[0].decode(errors="replace")
        sections[name] = content
    return sections


def _strings(content: bytes) -> list[str]:
    return [text.decode(errors="replace") for text in content.split(b"\0") if text.strip()]
