"""What differs between two machines: their facts, and the releases that ran on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cputrain.analysis.machines.machine import Machine

FACTS = (
    *("cpu", "cpu_vendor", "cpu_family", "cpu_model", "cpu_stepping", "microcode", "isa"),
    *("l1d", "l1i", "l2", "l3", "sockets", "cores", "threads_per_core", "num_cpu", "numa_nodes"),
    *("memory", "memory_speed", "hypervisor", "container", "kernel", "mitigations", "glibc"),
    *("cgroup_cpu_quota", "arch", "os"),
)
"""asv's facts that are compared, in this order."""
RELEASES = ("torch", "jax", "jaxlib", "numpy", "python", "ipex", "cc_version")
"""Of which another release may be another speed."""
COMMIT = "commit of cputrain"


@dataclass(frozen=True)
class Differs:
    """One thing that differs: what it is on each machine."""

    what: str
    first: str
    other: str


def facts(first: Machine, other: Machine) -> list[Differs]:
    """Facts of both that differ; of instruction sets only those that one of the two lacks."""
    lines = []
    for name in FACTS:
        both = [_text(machine.facts.get(name)) for machine in (first, other)]
        if both[0] == both[1] or not all(both):
            continue
        if name == "isa":
            sets = [set(text.split()) for text in both]
            both = [" ".join(sorted(a - b)) or "none more" for a, b in (sets, sets[::-1])]
        lines.append(Differs(name, *both))
    return lines


def unrecorded(first: Machine, other: Machine) -> list[tuple[str, list[str]]]:
    """By machine, what is recorded of the other one and not of it: facts, and commits."""
    lines = []
    for lacking, known in ((first, other), (other, first)):
        names = [n for n in FACTS if _text(known.facts.get(n)) and not _text(lacking.facts.get(n))]
        if _commits(known) and not _commits(lacking):
            names.append(COMMIT)
        if names:
            lines.append((lacking.name, names))
    return lines


def releases(first: Machine, other: Machine) -> list[Differs]:
    """Versions and commits of what ran on both, where they differ.

    A worker records the packages that it has imported: one that no cell of a machine needed, as
    torchao in a quick run, is no difference.
    """
    lines = []
    names = [*RELEASES, *sorted({n for m in (first, other) for n in _versions(m)} - {*RELEASES})]
    for name in names:
        both = [_several(_versions(machine).get(name, [])) for machine in (first, other)]
        if all(both) and both[0] != both[1]:
            lines.append(Differs(name, *both))
    commits = [_commits(machine) for machine in (first, other)]
    if all(commits) and commits[0] != commits[1]:
        lines.append(Differs(COMMIT, *commits))
    return lines


def _versions(machine: Machine) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = {}
    for worker in machine.newest:
        for name, version in worker.versions.items():
            by_name.setdefault(name, []).append(version)
    return by_name


def _commits(machine: Machine) -> str:
    return _several([worker.commit[:8] for worker in machine.newest if worker.commit])


def _several(words: list[str]) -> str:
    """Each once; empty where there is none."""
    return " and ".join(sorted(set(words)))


def _text(value: Any) -> str:
    """One line; empty where it is not recorded."""
    return "" if value is None else " ".join(str(value).split())
