"""Where the optional libraries are, and what to install where one is missing.

Looked for in this order: a path that was given (`bench.py run --library NAME=PATH`), the wheels
of the measured stack, conda, the loader's cache, library folders; in one place the newest
version first. Standard library only.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cputrain import environ, paths
from cputrain.errors import UsageError
from cputrain.machine.library_catalogue import LIBRARIES, OptionalLibrary, fault

VARIABLE = environ.LIBRARIES
"""Given paths: "name=/path:name=/path". Workers are told by it what their launcher found."""
ROOT = Path("/")


class Missing(Exception):
    """A library that is not there or cannot be used: one line with what to install or to do."""


def find(name: str, root: Path = ROOT) -> Path:
    """The file of library `name`.

    Args:
        name: of `LIBRARIES`.
        root: below which the system's library folders are.

    Raises:
        Missing: it is not there or cannot be used; the line says what to install or to do.
    """
    try:
        path = _parsed(os.environ.get(VARIABLE, "")).get(name)
    except UsageError as error:
        raise Missing(str(error)) from None
    if path is not None:
        if (reason := fault(name, path)) is not None:
            raise Missing(f"{VARIABLE} has {name}={path}: {reason}")
        return path
    path, why = _search(name, root, prefixes(), os.environ.get("CONDA_PREFIX", ""))
    if path is None:
        raise Missing(why or _how(name, LIBRARIES[name]))
    return path


def why_not(name: str) -> str | None:
    """Why library `name` cannot be had; None where it is there or asv's environment brings it."""
    try:
        find(name)
    except Missing as missing:
        return None if expected(name) else str(missing)
    return None


def expected(name: str) -> bool:
    """Whether asv brings it when it next builds the environment, from requirements.txt.

    Not where the one that it has brought cannot be used.
    """
    library, stacks = LIBRARIES[name], prefixes()
    if in_stack() or not library.has_wheel:
        return False
    if stacks and _search(name, ROOT, stacks, "")[1]:
        return False
    lines = (paths.PROJECT / "requirements.txt").read_text().splitlines()
    return any(line.partition(";")[0].strip() == library.wheel for line in lines)


def in_stack() -> bool:
    """Whether this interpreter is the measured stack's, and not the tools'."""
    return importlib.util.find_spec("torch") is not None


def prefixes() -> tuple[Path, ...]:
    """The environments whose wheels are looked at; in the tools' interpreter those of asv."""
    if in_stack():
        return (Path(sys.prefix),)
    built = (paths.PROJECT / ".asv" / "env").glob("*/bin/python")
    newest = sorted(built, key=lambda python: python.lstat().st_mtime, reverse=True)
    return tuple(python.parent.parent for python in newest)


def from_arguments(words: Sequence[str]) -> str:
    """The value of `VARIABLE` for these NAME=PATH, which go before what it has already.

    Raises:
        UsageError: an unknown name, or a file that is not there or no library of this machine.
    """
    chosen = _parsed(os.environ.get(VARIABLE, ""))
    for word in words:
        if ":" in word:
            raise UsageError(f"--library {word}: a path with a colon cannot be passed on")
        chosen |= {name: path.absolute() for name, path in _parsed(word).items()}
    for name, path in chosen.items():
        if (reason := fault(name, path)) is not None:
            raise UsageError(f"--library {name}={path}: {reason}")
    return _joined(chosen)


def settled() -> str:
    """The value of `VARIABLE` with every library that is found here, for workers."""
    by_name = {}
    for name in LIBRARIES:
        try:
            by_name[name] = find(name)
        except Missing:
            continue  # the worker that needs it says so
    return _joined({name: path for name, path in by_name.items() if ":" not in str(path)})


def _parsed(value: str) -> dict[str, Path]:
    by_name = {}
    for word in filter(None, value.split(":")):
        name, equals, path = word.partition("=")
        if name not in LIBRARIES or not equals or not path:
            known = ", ".join(LIBRARIES)
            raise UsageError(f"library {word!r}: NAME=PATH is needed, NAME one of {known}")
        by_name[name] = Path(path)
    return by_name


def _joined(by_name: dict[str, Path]) -> str:
    return ":".join(f"{name}={path}" for name, path in by_name.items())


def _search(name: str, root: Path, stacks: tuple[Path, ...], conda: str) -> tuple[Path | None, str]:
    """The file; or None, and why those that are there cannot be used: "" where there is none."""
    library, unusable = LIBRARIES[name], ""
    for place in _places(library, root, stacks, conda):
        ranked = [(library.rank(file.name), file) for file in place]
        for _, path in sorted((r, file) for r, file in ranked if r is not None):
            if library.rank(path.resolve().name) is None:
                continue  # a link to another library, such as LLVM's libomp as libiomp5
            if (reason := fault(name, path)) is None:
                return path, ""
            unusable = unusable or f"{name} cannot be used: {path}: {reason}"
    return None, unusable


def _how(name: str, library: OptionalLibrary) -> str:
    """What to install."""
    if library.has_wheel:
        return f"{name} is not installed: pip install {library.wheel} into asv's environment"
    if library.wheel:
        only = f"its wheel is for {' and '.join(library.machines)} only"
        return f"{name} is not installed, and {only}: --library {name}=PATH names another"
    install = f"apt install {library.debian} (Fedora: dnf install {library.fedora})"
    return f"{name} is not installed: {install}"


def _places(
    library: OptionalLibrary, root: Path, stacks: tuple[Path, ...], conda: str
) -> Iterator[list[Path]]:
    """The files of each place to look at, in turn."""
    for prefix in stacks:
        sites = sorted(prefix.glob("lib/python3*/site-packages"))
        yield _files(library, [prefix / "lib", *(site / (library.folder or ".") for site in sites)])
    if conda:
        yield _files(library, [Path(conda) / "lib"])
    yield [path for path in _loader_cache(root) if library.rank(path.name) is not None]
    triplet = f"{platform.machine()}-linux-gnu"
    below = ("usr/local/lib", "usr/lib", "lib")
    folders = [root / base / tail for base in below for tail in (triplet, "")]
    folders += [root / base for base in ("usr/local/lib64", "usr/lib64", "lib64")]
    folders += sorted((root / "opt/intel/oneapi").glob("*/latest/lib"))
    yield _files(library, folders)


def _files(library: OptionalLibrary, folders: Sequence[Path]) -> list[Path]:
    stems = library.stems
    return [path for folder in folders for stem in stems for path in folder.glob(f"{stem}.so*")]


@functools.cache
def _loader_cache(root: Path) -> tuple[Path, ...]:
    """The files in the dynamic loader's cache; none where there is no cache or no ldconfig."""
    env = {"PATH": f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin", "LC_ALL": "C"}
    command = ["ldconfig", "-p", "-C", str(root / "etc/ld.so.cache")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env)
    except FileNotFoundError:
        return ()
    return tuple(
        Path(line.partition(" => ")[2]) for line in done.stdout.splitlines() if "=>" in line
    )
