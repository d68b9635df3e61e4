"""What the nodes have left, brought together here: the one place that does so."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from cputrain.atomic import write_text
from cputrain.machine import registry

KINDS = ("result/asv", "result/asv-quick", "result", "output")
"""Where a machine's folder lies in a clone."""


def gather(folders: Sequence[Path], here: Path, notes: Path) -> tuple[list[str], list[str]]:
    """Copy the nodes' machines; the names, and a line for each that is left where it is.

    A machine that is known here stays as it is, unless it came from this very folder before.

    Args:
        folders: the nodes' clones.
        here: where to.
        notes: folder that says which machine came from where.
    """
    taken, left = [], []
    for folder in folders:
        for name in _machines(folder):
            note = notes / name
            is_ours = note.exists() and note.read_text() == str(folder)
            if not is_ours and any((here / kind / name).exists() for kind in KINDS):
                left.append(f"{name} is known here: what {folder} has of it stays there")
                continue
            write_text(note, str(folder))
            for kind in KINDS:
                if (folder / kind / name).is_dir():
                    shutil.copytree(folder / kind / name, here / kind / name, dirs_exist_ok=True)
            for kind in ("asv", "asv-quick"):
                _benchmarks(folder / "result" / kind, here / "result" / kind)
            taken.append(name)
    return taken, left


def _machines(folder: Path) -> list[str]:
    """Machines that have records in a clone."""
    output = folder / "output"
    names = [path.name for path in sorted(output.glob("*")) if path.is_dir()]
    return [name for name in names if name not in registry.RESERVED]


def _benchmarks(there: Path, here: Path) -> None:
    """asv's list of benchmarks, where there is none yet."""
    source, target = there / "benchmarks.json", here / "benchmarks.json"
    if source.exists() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
