"""Copies of asv's results, for the case that asv is killed while it writes them.

asv keeps all suites of a commit in one file and rewrites it in place, without waiting for the disk:
a kill in the middle, or a power cut soon after, would lose the suites that were done. Standard
library only.
"""

from __future__ import annotations

import json
from pathlib import Path

from cputrain.atomic import sync, write_bytes


def is_whole(path: Path) -> bool:
    """Whether a file holds JSON to its end."""
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def keep(results: Path, copies: Path) -> None:
    """Copy every whole result file of one machine, and wait until the disk has both.

    Args:
        results: asv's folder of the machine, result/asv/MACHINE.
        copies: where the copies lie.
    """
    for path in results.glob("*.json"):
        if is_whole(path):
            sync(path, below=results.parents[2])
            write_bytes(copies / path.name, path.read_bytes())


def mend(results: Path, copies: Path) -> list[str]:
    """Put copies in place of files that broke; without a copy the file is put aside.

    A file keeps its name until its copy has it: killed in between, the next call mends it. A name
    that is missing was deleted by somebody, and stays so.

    Returns:
        One line for people about each such file.
    """
    lines = []
    for path in sorted(results.glob("*.json")):
        if is_whole(path):
            continue
        broken, copy = path.with_suffix(".json.broken"), copies / path.name
        if copy.exists() and is_whole(copy):
            write_bytes(broken, path.read_bytes())
            write_bytes(path, copy.read_bytes())
            lines.append(f"{path} broke off in the middle; its last whole copy is in its place")
        else:
            path.replace(broken)
            lines.append(f"{path} broke off in the middle and is put aside as {broken.name}")
    return lines
