"""The CPUs that cgroups allow; an affinity mask may be narrower."""

from __future__ import annotations

from pathlib import Path

from cputrain.machine import reading

FILES = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
"""A cgroup's: version 2's, version 1's, and that of old kernels."""


def allowed(root: Path = reading.ROOT) -> str:
    """The CPUs that this process's cgroup leaves it, as the kernel lists them.

    An empty list is its parent's.

    Raises:
        reading.Unknown: no cgroup around this process tells.
    """
    for folder in reading.cgroup_folders(root, "cpuset"):
        for name in FILES:
            try:
                content = reading.text(root, f"{folder}/{name}")
                reading.as_list(content)
            except (reading.Unknown, ValueError):
                continue
            return content
    raise reading.Unknown("no cgroup around this process tells its CPUs")
