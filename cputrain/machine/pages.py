"""Where this process's pages are, and how large: what the kernel shows of them.

Standard library only. Formats: Linux's Documentation/filesystems/proc.rst (smaps,
smaps_rollup) and numa(7) (numa_maps).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cputrain.machine import reading

THP = "/sys/kernel/mm/transparent_hugepage"
ENABLED, DEFRAG = f"{THP}/enabled", f"{THP}/defrag"


@dataclass(frozen=True)
class NumaMaps:
    """The anonymous pages of a process: stacks, heap, what the allocator maps.

    Attributes:
        policies: bytes by the memory policy that holds for them, as the kernel writes it.
        nodes: bytes by the node that they are on.
    """

    policies: dict[str, int]
    nodes: dict[int, int]


@dataclass(frozen=True)
class Policy:
    """A memory policy.

    Attributes:
        mode: default, local, bind, interleave, prefer, ...
        nodes: that it names, ascending.
    """

    mode: str
    nodes: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.mode + (f" on {', '.join(map(str, self.nodes))}" if self.nodes else "")


def numa_maps(root: Path = reading.ROOT) -> NumaMaps:
    """The policies and nodes of this process's anonymous pages.

    Raises:
        reading.Unknown: the kernel does not say.
    """
    policies: dict[str, int] = {}
    nodes: dict[int, int] = {}
    for line in reading.text(root, "/proc/self/numa_maps").splitlines():
        where, _, counted = line.partition(" anon=")
        if not counted or " file=" in where:
            continue  # no pages, or those of a file, which whoever read it first has placed
        size = int(_value(line, "kernelpagesize_kB", "4")) * 1024
        pages = {int(node): int(n) * size for node, n in re.findall(r" N(\d+)=(\d+)", line)}
        policy = policy_of(line)
        policies[policy] = policies.get(policy, 0) + sum(pages.values())
        for node, n in pages.items():
            nodes[node] = nodes.get(node, 0) + n
    if not nodes:
        raise reading.Unknown("/proc/self/numa_maps: no anonymous page")
    return NumaMaps(policies, nodes)


def policy_of(line: str) -> str:
    """The policy in a line of numa_maps; some names are two words."""
    words = line.split()
    is_two = len(words) > 2 and (words[1] == "weighted" or words[2].startswith("(many)"))
    return " ".join(words[1:3]) if is_two else words[1]


def parse_policy(written: str) -> Policy:
    """`interleave:0-1` or `bind=static:0` in parts; flags are left out.

    Raises:
        reading.Unknown: the nodes are no list of numbers.
    """
    mode, _, nodes = written.partition(":")
    mode = mode.partition("=")[0]
    try:
        return Policy(mode, reading.as_list(nodes) if nodes else ())
    except ValueError as error:
        raise reading.Unknown(f"memory policy {written!r}: no list of nodes") from error


def process_policy(root: Path = reading.ROOT) -> str:
    """The policy of this process's first mapping, its program: nobody sets another one there.

    Only that line is read, since the kernel counts pages for the others.

    Raises:
        reading.Unknown: the kernel does not say.
    """
    name = "/proc/self/numa_maps"
    try:
        with (root / name.lstrip("/")).open(errors="replace") as file:
            return policy_of(file.readline())
    except (OSError, IndexError) as error:
        raise reading.Unknown(f"{name}: {getattr(error, 'strerror', None) or 'empty'}") from error


def anon_huge_bytes(root: Path = reading.ROOT) -> int:
    """Bytes of its anonymous memory in transparent huge pages. Raises reading.Unknown."""
    name = "/proc/self/smaps_rollup"
    value = _value(reading.text(root, name), "AnonHugePages", "")
    if not value:
        raise reading.Unknown(f"{name}: no AnonHugePages")
    return int(value) * 1024


def asks_for_huge_pages(address: int, root: Path = reading.ROOT) -> bool:
    """Whether the mapping around `address` was advised MADV_HUGEPAGE: `hg` among its flags.

    Raises:
        reading.Unknown: no such mapping, or the kernel does not show flags.
    """
    inside = False
    for line in reading.text(root, "/proc/self/smaps").splitlines():
        if span := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(span[1], 16) <= address < int(span[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "hg" in line.split()
    raise reading.Unknown(f"/proc/self/smaps: no flags at {address:#x}")


def huge_page_mode(root: Path = reading.ROOT, name: str = ENABLED) -> str:
    """never, madvise or always: to whom the machine gives transparent huge pages.

    Args:
        root: where /sys is.
        name: of another file that marks its mode so.

    Raises:
        reading.Unknown: the kernel has none.
    """
    modes = reading.text(root, name)
    mode = modes.partition("[")[2].partition("]")[0]
    if not mode:
        raise reading.Unknown(f"{name}: {modes[:40]!r} has no mode in brackets")
    return mode


def _value(content: str, key: str, otherwise: str) -> str:
    """The digits after `key=` or `key:`."""
    match = re.search(rf"\b{key}[=:]\s*(\d+)", content)
    return match[1] if match else otherwise
