"""The vector instructions of code that this process wrote into its own memory; x86 only.

Compilers in the process put their code where it can be executed and belongs to no file: LLVM's,
which XLA has, without leave to write there again, xbyak's, which oneDNN writes its kernels with,
with it. Disassembled by objdump of binutils. Standard library only.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from pathlib import Path

from cputrain.machine import reading
from cputrain.machine.reading import Unknown
from cputrain.machine.vectors import disassembled as listing

KINDS = {"r-xp": "xla", "rwxp": "onednn"}
"""Who wrote a mapping, in a process that has jaxlib, by its permissions."""
AVX512 = re.compile(r"%zmm|%k[0-7]\b|%[xy]mm(?:1[6-9]|2\d|3[01])\b")
"""Registers that only instructions of AVX-512 have; Intel SDM, volume 1, chapter 15."""
AVX = re.compile(r"\tv\w+ .*%[xy]mm")
SSE = re.compile(r"%xmm")
BYTES = ("-D", "-b", "binary", "-m", "i386:x86-64")
"""Tells objdump that a file holds nothing but code."""


def vectors(root: Path = reading.ROOT) -> dict[str, dict[str, int]]:
    """How many instructions on vector registers there are: by writer, then by "avx512" and so on.

    A scalar in a vector register counts, as a compiler without AVX writes those otherwise too.

    Raises:
        Unknown: objdump is not here or fails, or the mappings cannot be read.
    """
    counts: dict[str, Counter[str]] = {}
    for writer, code in mappings(root):
        counts.setdefault(writer, Counter()).update(kinds(disassembled(code)))
    return {writer: dict(counted) for writer, counted in counts.items()}


def mappings(root: Path = reading.ROOT) -> list[tuple[str, bytes]]:
    """The writer and the bytes of each executable mapping that belongs to no file.

    Code that is freed while this reads is left out: XLA's threads do that after a program ran.

    Raises:
        Unknown: they cannot be read.
    """
    blocks = []
    try:
        memory = os.open(root / "proc/self/mem", os.O_RDONLY)
    except OSError as error:
        raise Unknown(f"/proc/self/mem: {error.strerror}") from error
    try:
        for start, end, writer in executable(root):
            try:
                blocks.append((writer, os.pread(memory, end - start, start)))
            except OSError as error:
                if (start, end, writer) in executable(root):
                    raise Unknown(f"/proc/self/mem: {error.strerror}") from error
    finally:
        os.close(memory)
    return blocks


def executable(root: Path = reading.ROOT) -> list[tuple[int, int, str]]:
    """Start, end and writer of those mappings. Raises Unknown."""
    lines = map(str.split, reading.text(root, "/proc/self/maps").splitlines())
    places = [(words[0].split("-"), words[1]) for words in lines if len(words) == 5]
    return [
        (int(start, 16), int(end, 16), KINDS[permissions])
        for (start, end), permissions in places
        if permissions in KINDS
    ]


def kinds(listing: str) -> dict[str, int]:
    """The instructions of a listing on vector registers, by what they need of the CPU."""
    counts: Counter[str] = Counter()
    for line in listing.splitlines():
        if "mm" not in line and "%k" not in line:
            continue
        if AVX512.search(line):
            counts["avx512"] += 1
        elif AVX.search(line):
            counts["avx"] += 1
        elif SSE.search(line):
            counts["sse"] += 1
    return dict(counts)


def disassembled(code: bytes) -> str:
    """What objdump makes of the bytes. Raises Unknown."""
    with tempfile.NamedTemporaryFile(prefix="cputrain-code-") as file:
        file.write(code)
        file.flush()
        return listing(Path(file.name), *BYTES)
