"""What is known of a machine: asv's facts about it, and what was measured of it."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cputrain.machine import allotted, measurements
from cputrain.record import files
from cputrain.results import asvfiles
from cputrain.results.rates import Peaks, best_step_s, busy_cpus
from cputrain.results.records import Problem
from cputrain.results.rows import CellResult


@dataclass(frozen=True)
class MachineFacts:
    """One machine.

    Attributes:
        facts: asv's machine.json; empty where there is none.
        peaks: what was measured of them.
        bandwidth: bytes/s that were measured, by number of threads.
        date: of the last measurement; None where nothing was measured.
        pinned: whether its threads were bound to cores; None where that is not known.
    """

    name: str
    facts: dict[str, Any]
    peaks: Peaks
    bandwidth: Mapping[str, float] = field(default_factory=dict)
    date: str | None = None
    pinned: bool | None = None

    @property
    def rates(self) -> list[tuple[str, dict[str, float | None]]]:
        """Threads, ascending, and what was measured with so many: the keys of `record.FIELDS`.

        Kinds of which nothing was measured are left out.
        """
        every = {**self.peaks, "bandwidth": self.bandwidth}
        kinds = [kind for kind in measurements.FIELDS if every.get(kind)]
        counts = sorted({n for kind in kinds for n in every[kind]}, key=int)
        return [(n, {kind: every[kind].get(n) for kind in kinds}) for n in counts]

    @property
    def last_caches(self) -> int | None:
        """Bytes of all caches of the last level; None where that is not known.

        The fact is text such as "32768K x 2, 16384K x 1".
        """
        fact = str(self.facts.get("l3") or self.facts.get("l2") or "")
        sizes = re.findall(r"(\d{1,9})K x (\d{1,6})", fact)
        return sum(int(kib) * 1024 * int(count) for kib, count in sizes) or None

    @property
    def memory_bytes(self) -> int | None:
        """Of its memory; None where that is not known. The fact is text such as "23.5 GiB"."""
        gib = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) GiB", str(self.facts.get("memory")))
        if gib:
            return round(float(gib[1]) * 2**30)
        ram = re.fullmatch(r"\d{1,18}", str(self.facts.get("ram")))
        return int(ram[0]) if ram else None

    @property
    def line(self) -> str:
        """CPU, cores, memory, system: what is known of them, in one line."""
        get = self.facts.get
        cpus, cores = get("num_cpu"), get("cores")
        count = _counted(cores, "core") if cores else None
        if cpus and cpus != cores:
            count = f"{count}, {_counted(cpus, 'CPU')}" if count else _counted(cpus, "CPU")
        memory = get("memory")
        if not memory and str(get("ram", "")).isdecimal():
            memory = f"{int(get('ram')) / 2**30:.1f} GiB"  # type: ignore[arg-type]
        known = [get("cpu"), count, count and allotted.in_words(self.name)]
        known += [memory and f"{memory} of memory", get("arch"), get("os")]
        return ", ".join(str(word) for word in known if word) or "nothing is recorded about it"


def _counted(count: object, noun: str) -> str:
    """`count` is a fact as it was recorded: text, perhaps no number."""
    return f"{count} {noun}" if str(count) == "1" else f"{count} {noun}s"


def believable(
    peaks: Peaks, cells: Iterable[CellResult], path: Path
) -> tuple[Peaks, list[Problem]]:
    """The peaks that no cell outran, and a problem for each other one: it was measured in noise.

    Where a cell's products are of several types, the other ones are blamed and not fp32, which
    most cells have alone.

    Args:
        peaks: as in `MachineFacts`.
        cells: of the same machine.
        path: where the peaks are from.
    """
    bad: dict[tuple[str, str], tuple[float, float]] = {}
    for cell in cells:
        if not (cell.ok and cell.workers and cell.step_s):
            continue
        last = cell.workers[-1]
        best = best_step_s(last, peaks)
        if best is None or best <= cell.step_s:
            continue
        kinds = [kind for kind in last.work.flops_by_type if kind != "fp32"]
        key = kinds[0] if kinds else "fp32", busy_cpus(last)
        flops = last.work.flops_per_step / cell.step_s, last.work.flops_per_step / best
        bad[key] = max(flops, bad.get(key, (0.0, 0.0)))
    good = {
        kind: {n: peak for n, peak in rates.items() if (kind, n) not in bad}
        for kind, rates in peaks.items()
    }
    return good, [
        Problem(
            path,
            f"no mfu for {kind} with {n} threads: a cell reached "
            f"{rate / 1e9:.0f} GFLOP/s, the measured peak is {peak / 1e9:.0f}; "
            "measure it again on an idle machine",
        )
        for (kind, n), (rate, peak) in bad.items()
    ]


def read(root: Path, machine: str) -> tuple[MachineFacts, list[Problem]]:
    """Facts and peaks of `machine` as found under root/result."""
    facts, problems = asvfiles.machine_facts(root, machine)
    path = root / "result" / machine / "machine.json"
    rates: dict[str, dict[str, float]] = {}
    date = pinned = None
    if os.path.lexists(path):
        try:
            content = json.loads(files.read_bytes(path))
            for kind, name in measurements.FIELDS.items():
                given = content.get(name) or {}
                rates[kind] = {str(int(threads)): float(rate) for threads, rate in given.items()}
                if not all(0 < rate < math.inf for rate in rates[kind].values()):
                    raise ValueError(f"{name} has a rate that is no positive number")
            date, pinned = content.get("date"), content.get("pinned")
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            reason = f"no peak in it, so no mfu ({error}); delete it and run again"
            problems.append(Problem(path, reason))
            rates = {}
    bandwidth = rates.pop("bandwidth", {})
    date = None if date is None else str(date)
    pinned = pinned if isinstance(pinned, bool) else None
    return MachineFacts(machine, facts, rates, bandwidth, date, pinned), problems
