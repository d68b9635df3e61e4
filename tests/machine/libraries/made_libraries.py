"""Libraries that are made in a folder: their first bytes."""

import platform
from pathlib import Path

ELF = (
    Path("/proc/self/exe").read_bytes()[:16] + b"\3\0" + Path("/proc/self/exe").read_bytes()[18:20]
)
TRIPLET = f"{platform.machine()}-linux-gnu"


def put(path, content=ELF):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
