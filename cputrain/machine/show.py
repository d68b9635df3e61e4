"""Print what is recorded about this machine: the `machine` verb."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from cputrain import paths
from cputrain.errors import UsageError
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
    return _aligned(rows + _peaks(name, result))


def other_lines(name: str, result: Path = paths.RESULT) -> list[str]:
    """The same of a machine whose results lie here: what asv kept of it, and its peaks.

    Raises:
        UsageError: no results of such a machine.
    """
    kept = {path.parent.name: path for path in sorted(result.glob("asv*/*/machine.json"))}
    if name not in kept:
        there = ", ".join(sorted(kept)) or "none"
        raise UsageError(f"no results of a machine {name!r} under {result}; there are: {there}")
    try:
        content = json.loads(kept[name].read_text())
        rows = [(key, str(value or "unknown")) for key, value in content.items()]
    except (ValueError, AttributeError):
        raise reading.MachineError(f"{kept[name]} is damaged: not an object; delete it") from None
    return _aligned(rows + _peaks(name, result))


def _peaks(name: str, result: Path) -> list[tuple[str, str]]:
    content = peak.read(result / name / "machine.json")
    return [
        (f"peak_{threads}_threads", f"{flops / 1e9:.1f} GFLOP/s, {kind} matrix product")
        for kind, field in peak.FIELDS.items()
        for threads, flops in content.get(field, {}).items()
    ] or [("peak", "not measured yet: run measures it")]


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(key) for key, _ in rows) + 2
    return [f"{key:{width}}{value}" for key, value in rows]


def main(args: argparse.Namespace) -> int:
    """Print the lines."""
    print("\n".join(other_lines(args.name) if args.name else lines()))
    return 0
