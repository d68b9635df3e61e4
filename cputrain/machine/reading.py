"""Read the kernel's files below a root: a value, or the reason why there is none.

Standard library only. The root is `/`, or a made tree in tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

ROOT = Path("/")
ONLINE = "/sys/devices/system/cpu/online"
"""The list of CPUs that the kernel runs on now."""


class Unknown(Exception):
    """This machine does not say: the message is the reason, one line without the root."""


class MachineError(RuntimeError):
    """Something about this machine's files that stops the program: one line says what to do."""


def text(root: Path, name: str) -> str:
    """The stripped text of file `name` (absolute, without the root).

    Raises:
        Unknown: it is not there, may not be read, or is empty.
    """
    try:
        content = (root / name.lstrip("/")).read_text(errors="replace").strip("\0 \t\n")
    except OSError as error:
        raise Unknown(f"{name}: {error.strerror or error}") from error
    if not content:
        raise Unknown(f"{name}: empty")
    return content


def number(root: Path, name: str) -> int:
    """The whole number in file `name`. Raises Unknown, also where it is something else."""
    content = text(root, name)
    try:
        return int(content)
    except ValueError as error:
        raise Unknown(f"{name}: {content[:40]!r} is not a number") from error


def cpu_list(root: Path, name: str) -> tuple[int, ...]:
    """The CPUs of a list such as "0-3,8" in file `name`, ascending. Raises Unknown."""
    content = text(root, name)
    try:
        return as_list(content)
    except ValueError as error:
        raise Unknown(f"{name}: {content[:40]!r} is not a list of CPUs") from error


def as_list(content: str) -> tuple[int, ...]:
    """The numbers of a list such as "0-3,8", ascending. Raises ValueError."""
    numbers: set[int] = set()
    for part in content.split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))


def as_text(numbers: Iterable[int]) -> str:
    """The numbers as such a list, ascending: what `as_list` reads."""
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)


def cgroup_folders(root: Path, controller: str) -> list[str]:
    """This process's cgroup folders for `controller`, innermost first, as they are mounted.

    Version 1 where the controller is mounted so, else version 2. In a container the path of
    /proc/self/cgroup is often not there; then the mount itself is the innermost.

    Raises:
        Unknown: no cgroup file system has it.
    """
    paths: dict[str, str] = {}
    for line in text(root, "/proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        for name in names.split(","):
            paths[name] = path
    if controller in paths:
        mounts = [f"/sys/fs/cgroup/{controller}"]
        if controller in ("cpu", "cpuacct"):
            mounts.append("/sys/fs/cgroup/cpu,cpuacct")
    elif "" in paths:
        controller, mounts = "", ["/sys/fs/cgroup"]
    else:
        mounts = []
    for mount in mounts:
        if (root / mount.lstrip("/")).is_dir():
            inner = Path(paths[controller].lstrip("/"))
            folders = [f"{mount}/{folder}" for folder in (inner, *inner.parents) if folder.name]
            there = [folder for folder in folders if (root / folder.lstrip("/")).is_dir()]
            return [*there, mount]
    raise Unknown(f"/sys/fs/cgroup: no {controller or 'cgroup'} controller is mounted")
