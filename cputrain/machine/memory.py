"""Memory that a new process may take. Standard library only."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cputrain.machine import reading


class Use(NamedTuple):
    """How much of some memory is in use.

    Attributes:
        used, limit: bytes; what the kernel would give back at once is not in use.
        of: "this machine", or the control group that has the limit.
    """

    used: int
    limit: int
    of: str

    @property
    def share(self) -> float:
        """Of the limit; 1 of none at all."""
        return self.used / self.limit if self.limit else 1.0


def available_memory(root: Path = reading.ROOT) -> int:
    """Bytes that can be taken without swapping: the kernel's estimate, or less by a cgroup's limit.

    A cgroup's file cache that it would give back counts as free, as it does in MemAvailable.

    Raises:
        reading.Unknown: /proc/meminfo does not say.
    """
    rooms = (max(0, use.limit - use.used) for use in _cgroups(root))
    return min([meminfo(root, "MemAvailable"), *rooms])


def fullest(root: Path = reading.ROOT) -> Use:
    """What is fullest of the memory that this process may take: the machine's, or a cgroup's.

    A cgroup counts where its limit is below the machine's memory.

    Raises:
        reading.Unknown: /proc/meminfo does not say.
    """
    total = meminfo(root, "MemTotal")
    machine = Use(total - meminfo(root, "MemAvailable"), total, "this machine")
    return max([machine, *(use for use in _cgroups(root) if use.limit < total)], key=_share)


def peak_resident(root: Path = reading.ROOT, process: int | str = "self") -> int:
    """Bytes of a process's resident memory at their most, since its program was started.

    Not getrusage's ru_maxrss: that survives exec, so a worker would start with what its
    launcher held when it forked (getrusage(2)).

    Raises:
        reading.Unknown: its file in /proc does not say.
    """
    return _kilobytes(root, f"/proc/{process}/status", "VmHWM")


def meminfo(root: Path, field: str) -> int:
    """A field of /proc/meminfo in bytes. Raises reading.Unknown."""
    return _kilobytes(root, "/proc/meminfo", field)


def peak_or_reason(name: str, process: int | str = "self") -> dict[str, int | str | None]:
    """`peak_resident` for a record, under `name`; where it is None, "<name>_reason" says why."""
    try:
        return {name: peak_resident(process=process)}
    except reading.Unknown as unknown:
        return {name: None, f"{name}_reason": str(unknown)}


def _kilobytes(root: Path, name: str, field: str) -> int:
    for line in reading.text(root, name).splitlines():
        key, _, rest = line.partition(":")
        words = rest.split()
        if key == field and words and words[0].isdigit():
            return int(words[0]) * 1024
    raise reading.Unknown(f"{name}: no {field}")


def _share(use: Use) -> float:
    return use.share


def _cgroups(root: Path) -> list[Use]:
    """The use of each cgroup around this process that has a limit."""
    try:
        folders = reading.cgroup_folders(root, "memory")
    except reading.Unknown:
        return []
    uses = (_use(root, folder) for folder in folders)
    return [use for use in uses if use is not None]


def _use(root: Path, folder: str) -> Use | None:
    for limit, usage, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            # "max" is not a number: no limit here.
            most = reading.number(root, f"{folder}/{limit}")
            used = reading.number(root, f"{folder}/{usage}")
        except reading.Unknown:
            continue
        return Use(max(0, used - _stat(root, folder, cache)), most, f"control group {folder}")
    return None


def _stat(root: Path, folder: str, field: str) -> int:
    """Bytes in a field of the cgroup's memory.stat; 0 where unknown takes no cache for free."""
    try:
        lines = reading.text(root, f"{folder}/memory.stat").splitlines()
        return next(int(line.split()[1]) for line in lines if line.split()[0] == field)
    except (reading.Unknown, StopIteration, ValueError, IndexError):
        return 0
