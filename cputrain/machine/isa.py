"""Whether this CPU has the instructions of a level of x86. Standard library.

Names of single instructions are the kernel's, of /proc/cpuinfo.
"""

from __future__ import annotations

from pathlib import Path

from cputrain.machine import cpu, reading

X86 = {
    "sse4_2": ("ssse3", "sse4_1", "sse4_2", "popcnt"),
    "avx2": ("avx2", "fma", "f16c", "bmi2"),
    "avx512": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""Rungs of x86-64, each with what it adds to the one below: the psABI's v2 to v4."""


def is_x86(root: Path = reading.ROOT) -> bool:
    """Whether this is an x86 CPU: only theirs have "flags". Raises Unknown where none are told."""
    try:
        cpu.info(root, "flags")
    except reading.Unknown:
        cpu.info(root, "Features", "isa", "cpu")  # of Arm, RISC-V, POWER; else unknown
        return False
    return True


def why_not(rung: str, root: Path = reading.ROOT) -> str | None:
    """Why nothing may use rung `rung` of x86 here; None where all may.

    A program that uses an instruction which the CPU lacks is killed by SIGILL.
    """
    try:
        if not is_x86(root):
            return f"{rung} is a level of x86 CPUs, and this is none"
        has = cpu.info(root, "flags").split()
    except reading.Unknown as unknown:
        return f"whether this CPU has {rung} is unknown: {unknown}"
    lacking = [flag for flag in X86[rung] if flag not in has]
    return f"this CPU has no {' and no '.join(lacking)}" if lacking else None
