"""Print what is recorded about this machine: the `machine` verb."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.machine import (
    allotted,
    bandwidth,
    clock,
    facts,
    measurements,
    memory,
    peak,
    reading,
    registry,
)
from cputrain.report import example, words
from cputrain.wording import one_line

WARM_S = 0.2
"""Seconds of computing before the clock is observed: an idle CPU's is low."""
ESTIMATE = "estimated by a timed chain of instructions on one CPU"
"""How the clock is observed, for people."""

Rows = list[tuple[str, str]]


def lines(root: Path = reading.ROOT, result: Path = paths.RESULT) -> list[str]:
    """Its name, each static fact, what is free and set now, and everything measured.

    Raises:
        reading.MachineError: its machine.json is damaged.
    """
    name = registry.name_here(root=root, result=result).name
    static = facts.read_facts(root)
    rows = [("machine", name)]
    if (part := allotted.line(root)) is not None:
        rows.append(("allowed", part))
    rows += [(k, v or f"unknown ({static.reasons[k]})") for k, v in static.values.items()]
    try:
        rows.append(("memory_available", f"{memory.available_memory(root) / 2**30:.1f} GiB"))
    except reading.Unknown as error:
        rows.append(("memory_available", f"unknown ({error})"))
    try:
        rows.append(("clock_now", f"{clock.observed_ghz(WARM_S):.2f} GHz, {ESTIMATE}"))
    except reading.Unknown as error:
        rows.append(("clock_now", f"unknown ({error})"))
    return _aligned(rows + measured(measurements.read(result / name / "machine.json")))


def other_lines(name: str, result: Path = paths.RESULT) -> list[str]:
    """The same of a machine whose results lie here: what asv kept of it, and what was measured.

    Raises:
        UsageError: no results of such a machine.
    """
    kept = {path.parent.name: path for path in sorted(result.glob("asv*/*/machine.json"))}
    if name not in kept:
        shipped, _ = example.read(paths.PROJECT)
        if shipped is not None and name == shipped.machine:
            raise UsageError(
                f"{name} is the example's: python3 bench.py compare example puts this machine "
                f"beside it; its tables: {paths.PROJECT / example.FOLDER / 'result' / 'README.md'}"
            )
        listed = ", ".join(sorted(kept)) or "none"
        raise UsageError(f"no results of a machine {name!r} under {result}; there are: {listed}")
    try:
        content = dict(json.loads(kept[name].read_text()))
    except (ValueError, TypeError):
        raise reading.MachineError(f"{kept[name]} is damaged: not an object; delete it") from None
    recorded = measurements.read(result / name / "machine.json")
    reasons = recorded.get("unknown_facts", {})
    rows = [
        (key, str(value or (f"unknown ({reasons[key]})" if key in reasons else "unknown")))
        for key, value in content.items()
    ]
    return _aligned(rows + measured(recorded))


def measured(content: dict[str, Any]) -> Rows:
    """What machine.json holds, for people."""
    if not content:
        return [("measured", "nothing yet: run measures it")]
    rows: Rows = [("measured", f"{content.get('date', 'at an unknown time')}, best of all runs")]
    arrays = content.get("bandwidth_array_bytes", {})
    for threads, rate in content.get(bandwidth.FIELD, {}).items():
        size = f", 3 arrays of {arrays[threads] >> 20} MiB" if threads in arrays else ""
        text = f"{words.number(rate / 1e9, 1)} GB/s, triad{size}"
        rows.append((f"bandwidth_{threads}_threads", text))
    for kind, field in peak.FIELDS.items():
        rows += [
            (
                f"peak_{threads}_threads",
                f"{words.number(rate / 1e9, 1)} {unit(kind)}, {kind} matrix product",
            )
            for threads, rate in content.get(field, {}).items()
        ]
    for task, reason in content.get("reasons", {}).items():
        rows.append((task.replace(":", "_") + "_threads", f"unknown ({reason})"))
    if "clock_ghz" in content:
        ghz, reason = content["clock_ghz"], content.get("clock_ghz_reason")
        rows.append(
            (
                "clock_then",
                f"{words.number(ghz, 2)} GHz, {ESTIMATE}" if ghz else f"unknown ({reason})",
            )
        )
    if content.get("pinned") is False:
        rows.append(("pinned", "no: the threads could not be bound to cores while measuring"))
    rows += _stack(content.get("libraries", {}))
    return rows + ([("flags", content["flags"])] if content.get("flags") else [])


def unit(kind: str) -> str:
    """What a rate of this type of number is counted in."""
    return "GOP/s" if kind == "int8" else "GFLOP/s"


def _stack(libraries: dict[str, Any]) -> Rows:
    """Versions, and what torch was built with but for its compiler's flags."""
    rows = [
        (name, library["version"] or f"unknown ({library.get('version_reason')})")
        for name, library in libraries.items()
    ]
    build = libraries.get("torch", {}).get("build", "")
    settings = [line.strip(" -") for line in build.splitlines()[1:]]
    shown = [line for line in settings if line and not line.startswith("Build settings")]
    return rows + [("torch_build", line) for line in shown]


def _aligned(rows: Rows) -> list[str]:
    width = max(len(key) for key, _ in rows) + 2
    return [f"{one_line(key):{width}}{one_line(value)}" for key, value in rows]


def main(args: argparse.Namespace) -> int:
    """Print the lines."""
    print("\n".join(other_lines(args.name) if args.name else lines()))
    return 0
