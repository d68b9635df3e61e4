"""Other processes on this machine. Standard library only."""

from __future__ import annotations

from pathlib import Path


def marked(name: str, value: str) -> list[int]:
    """Processes with this variable in their environment, wherever they went."""
    wanted = f"{name}={value}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environ = (folder / "environ").read_bytes()
            except OSError:
                continue  # ended meanwhile, or somebody else's
            if wanted in environ.split(b"\0"):
                found.append(int(folder.name))
    return found


def oom_kills() -> int:
    """Processes that the kernel has killed for memory since boot; -1 where it does not say."""
    try:
        text = Path("/proc/vmstat").read_text()
    except OSError:
        return -1
    words = text.split()
    return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else -1
