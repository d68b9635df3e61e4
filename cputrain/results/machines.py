"""What is known of a machine: asv's facts about it, and the peak that was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.results import asvfiles, columns
from cputrain.results.records import Problem
from cputrain.results.rows import Cell

PEAKS = "fp32_matmul_flops"


@dataclass(frozen=True)
class MachineFacts:
    """One machine.

    Attributes:
        facts: asv's machine.json; empty where there is none.
        peaks: measured fp32 matmul FLOP/s by number of threads; empty where not measured.
    """

    name: str
    facts: dict[str, Any]
    peaks: dict[str, float]

    @property
    def line(self) -> str:
        """CPU, cores, memory, system: what is known of them, in one line."""
        get = self.facts.get
        cpus, cores = get("num_cpu"), get("cores")
        count = f"{cores} cores" if cores else None
        if cpus and cpus != cores:
            count = f"{count}, {cpus} CPUs" if count else f"{cpus} CPUs"
        memory = get("memory")
        if not memory and str(get("ram", "")).isdecimal():
            memory = f"{int(get('ram')) / 2**30:.1f} GiB"  # type: ignore[arg-type]
        known = [get("cpu"), count, memory and f"{memory} of memory", get("arch"), get("os")]
        return ", ".join(str(word) for word in known if word) or "nothing is recorded about it"


def believable(
    peaks: Mapping[str, float], cells: Iterable[Cell], path: Path
) -> tuple[dict[str, float], list[Problem]]:
    """The peaks that no cell outran, and a problem for each other one: it was measured in noise.

    Args:
        peaks: as in `MachineFacts`.
        cells: of the same machine.
        path: where the peaks are from.
    """
    fastest: dict[str, float] = {}
    for cell in cells:
        if cell.ok and cell.workers and cell.step_s:
            threads = columns.busy_cpus(cell.workers[-1])
            rate = cell.workers[-1]["counts"]["flops_per_step"] / cell.step_s
            fastest[threads] = max(rate, fastest.get(threads, 0.0))
    good = {n: peak for n, peak in peaks.items() if peak >= fastest.get(n, 0.0)}
    bad = [
        f"no mfu for {n} threads: a cell reached {fastest[n] / 1e9:.0f} GFLOP/s, the measured peak "
        f"is {peak / 1e9:.0f}; measure it again on an idle machine"
        for n, peak in peaks.items()
        if n not in good
    ]
    return good, [Problem(path, reason) for reason in bad]


def read(root: Path, machine: str) -> tuple[MachineFacts, list[Problem]]:
    """Facts and peaks of `machine` as found under root/result."""
    facts: dict[str, Any] = {}
    problems: list[Problem] = []
    for mode in paths.MODES:
        folder = root / "result" / ("asv-quick" if mode == "quick" else "asv")
        found, broken = asvfiles.machine_facts(folder, machine)
        facts = facts or found
        problems += broken
    path = root / "result" / machine / "machine.json"
    peaks: dict[str, float] = {}
    if path.exists():
        try:
            given = json.loads(path.read_bytes()).get(PEAKS) or {}
            peaks = {str(threads): float(peak) for threads, peak in given.items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            reason = f"no peak in it, so no mfu ({error}); delete it and run again"
            problems.append(Problem(path, reason))
    return MachineFacts(machine, facts, peaks), problems
