"""The vector instructions of a library: how many compute with packed fp32 numbers, by width.

By objdump of binutils, which compilers need and bring. x86 only. Standard library only.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from cputrain.machine.reading import Unknown

PROGRAM = "objdump"
NAMES = {"z": "zmm", "y": "ymm", "x": "xmm_packed"}
"""512, 256 and 128 bits. One number in an xmm register, "addss", is no vector."""
ARITHMETIC = re.compile(
    r"\tv?(?:add|sub|mul|div|max|min|sqrt|rsqrt|rcp|rsqrt14|rcp14|hadd|hsub|addsub|dp)ps\s(.*)"
    r"|\tvfn?m(?:add|sub|addsub|subadd)(?:132|213|231)?ps\s(.*)"
)
"""Of the Intel SDM, volume 2: instructions on packed single-precision numbers that compute."""


def count(path: Path) -> dict[str, int]:
    """The instructions in `path` that add, multiply, divide and the like, by register.

    Raises:
        Unknown: objdump is not here or cannot read it.
    """
    counts = dict.fromkeys(NAMES.values(), 0)
    for match in ARITHMETIC.finditer(disassembled(path)):
        operands = match[1] or match[2]
        widest = next((name for prefix, name in NAMES.items() if f"%{prefix}mm" in operands), None)
        if widest is not None:
            counts[widest] += 1
    return counts


def disassembled(path: Path, *words: str) -> str:
    """What objdump makes of a file's code.

    Args:
        path: a library, unless `words` say otherwise.
        words: in the place of "-d".

    Raises:
        Unknown: objdump is not here or cannot read it.
    """
    command = [PROGRAM, *(words or ("-d",)), "--no-show-raw-insn", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        raise Unknown(f"{PROGRAM} is not installed") from None
    if done.returncode:
        raise Unknown(f"{path.name}: {(done.stderr.splitlines() or [PROGRAM])[0]}")
    return done.stdout
