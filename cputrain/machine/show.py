"""Print what is recorded about this machine: the `machine` verb."""

from __future__ import annotations

import argparse
from pathlib import Path

from cputrain import paths
from cputrain.machine import facts, memory, peak, reading, registry


def lines(root: Path = reading.ROOT, result: Path = paths.RESULT) -> list[str]:
    """One line for its name, each static fact, free memory, and each measured peak.

    Raises:
        reading.MachineError: its machine.json is damaged.
    """
    name = registry.machine_name(root)
    found = facts.read_facts(root)
    rows = [("machine", name)]
    rows += [(k, v or f"unknown ({found.reasons[k]})") for k, v in found.values.items()]
    try:
        rows.append(("memory_available", f"{memory.available_memory(root) / 2**30:.1f} GiB"))
    except reading.Unknown as error:
        rows.append(("memory_available", f"unknown ({error})"))
    peaks = peak.read(result / name / "machine.json").get(peak.FIELD, {})
    for threads, flops in peaks.items():
        rows.append((f"peak_{threads}_threads", f"{flops / 1e9:.1f} GFLOP/s, fp32 matrix product"))
    if not peaks:
        rows.append(("peak", "not measured yet: run measures it"))
    width = max(len(key) for key, _ in rows) + 2
    return [f"{key:{width}}{value}" for key, value in rows]


def main(_: argparse.Namespace) -> int:
    """Print the lines."""
    print("\n".join(lines()))
    return 0
