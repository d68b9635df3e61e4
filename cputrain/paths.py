"""Where everything lies in the project folder. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from cputrain import environ
from cputrain.errors import UsageError

PROJECT = Path(__file__).resolve().parent.parent
"""The clone that this code is in."""

ROOT = Path(environ.value(environ.ROOT) or PROJECT)
"""Where data, results and models go; those of a trial run go elsewhere."""

BENCHMARKS = Path(environ.value(environ.BENCHMARKS) or PROJECT / "benchmarks")
"""The suites; a trial run may have others, in a folder of that name."""

DATA = ROOT / "data"
OUTPUT = ROOT / "output"
RESULT = ROOT / "result"
STATE = ROOT / ".asv"

OTHER_COMMITS = "asv-run"
"""In .asv: data, records and models of other commits than HEAD, a folder for each."""

MODES = ("full", "quick")
_ODD = re.compile(r"[^A-Za-z0-9._+-]")

ENGINES = {"full": "engines.csv", "quick": "engines-quick.csv"}
"""Table of a run of engines side by side, below result/<machine>/, by kind of run."""


def cell_name(values: Sequence[object]) -> str:
    """A cell's folder and label: its values joined by "-", odd characters made "_"."""
    return "-".join(_ODD.sub("_", str(value)) for value in values)


def output_folder(machine: str, mode: str) -> Path:
    """Where the run records and models of `machine` lie; quick sweeps keep apart from full ones."""
    folder = OUTPUT / machine
    return folder / "quick" if mode == "quick" else folder


def asv_results(mode: str) -> Path:
    """asv's results folder of a full or a quick sweep."""
    return RESULT / ("asv-quick" if mode == "quick" else "asv")


def shown(path: Path, root: Path | None = None) -> Path:
    """A path as it is typed in the folder `root` (None: the project's), where it lies there."""
    inside = ROOT if root is None else root
    return path.relative_to(inside) if path.is_relative_to(inside) else path


def recordable(path: Path) -> str:
    """A path that somebody has named, as text for a record. Raises UsageError: it is not UTF-8."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{path}: not UTF-8, as records need it: give it another name") from error
    return text
