"""The CPU time that cgroups allow: a limit that no affinity mask shows."""

from __future__ import annotations

from pathlib import Path

from cputrain.machine import reading


def cpu_quota(root: Path = reading.ROOT) -> float | None:
    """CPUs' worth of time per second that this process may use; None where nothing limits it.

    Raises:
        reading.Unknown: no cgroup file system to ask.
    """
    quotas = [_quota(root, folder) for folder in reading.cgroup_folders(root, "cpu")]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(root: Path, folder: str) -> float | None:
    """What one cgroup sets; the outermost one has no such file."""
    try:
        limit, period = reading.text(root, f"{folder}/cpu.max").split()
    except (reading.Unknown, ValueError):
        try:
            limit = reading.text(root, f"{folder}/cpu.cfs_quota_us")
            period = reading.text(root, f"{folder}/cpu.cfs_period_us")
        except reading.Unknown:
            return None
    if limit in ("max", "-1"):
        return None
    try:
        return int(limit) / int(period)
    except (ValueError, ZeroDivisionError) as error:
        raise reading.Unknown(f"{folder}: quota {limit!r} of {period!r}") from error
