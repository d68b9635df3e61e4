"""What an export of a machine is made from: its files and the code, as one fingerprint.

A file counts by its path, size and times of change, in nanoseconds: reading 1 000 machines' records
to see that nothing changed would take as long as making their pages.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path

from cputrain import paths
from cputrain.record.releases import FOLDER as COMPARED
from cputrain.report import comparisons
from cputrain.results import other_commits

PACKAGES = ("asv", "jinja2", "markupsafe", "msgspec", "numpy", "polars")
"""Libraries that reckon, or write, what stands in the pages."""
CODE = (".py", ".j2", ".css", ".js")
MODEL = ".safetensors"
"""Trained models lie beside the records and are not read."""

Stamp = tuple[int, int, int]
"""A file's size in bytes, and when its content and its entry changed, in nanoseconds."""


def stamp(path: Path | os.DirEntry[str]) -> Stamp | None:
    """A file's; links are not followed. None where there is none."""
    try:
        status = path.lstat() if isinstance(path, Path) else path.stat(follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def fingerprint(root: Path, machine: str, others: Iterable[str]) -> str:
    """Of everything that a machine's pages are made from.

    Args:
        root: of data and results.
        machine: whose.
        others: what else they are made from, as text.
    """
    digest = hashlib.sha256(repr((code(paths.PROJECT / "cputrain"), *others)).encode())
    for name, its in sorted(_files(root, machine)):
        digest.update(f"{name}\0{its}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


@functools.cache
def code(package: Path) -> str:
    """Of a package's sources, and of the versions of the libraries that reckon and write."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    digest = hashlib.sha256(repr((platform.python_version(), versions)).encode())
    for path in sorted(path for path in package.rglob("*") if path.suffix in CODE):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _files(root: Path, machine: str) -> Iterator[tuple[str, Stamp | None]]:
    """Every file that is read for a machine, and some more: its path, and what it is known by."""
    result = root / "result"
    own = [result / machine / name for name in ("machine.json", *paths.ENGINES.values())]
    asvs = [result / paths.asv_results(mode).name / machine for mode in paths.MODES]
    for path in (*own, *(folder / "machine.json" for folder in asvs)):
        yield str(path.relative_to(root)), stamp(path)
    yield from _below(root / "output" / machine, f"output/{machine}")
    yield from _below(result / machine / COMPARED, f"result/{machine}/{COMPARED}")
    for name in comparisons.of_machines(result, machine):
        yield f"{comparisons.COMPARE}/{name}", None
    for commit, folder in other_commits.folders(root).items():
        yield from _below(folder / "output" / machine, f"{commit}/{machine}")


def _below(folder: Path | str, name: str) -> Iterator[tuple[str, Stamp | None]]:
    """Of all files in a folder but models; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(entry.path, f"{name}/{entry.name}")
                elif not entry.name.endswith(MODEL):
                    yield f"{name}/{entry.name}", stamp(entry)
    except (FileNotFoundError, NotADirectoryError):
        return
