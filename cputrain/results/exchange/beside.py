"""What comes beside a machine's records: its peaks, its facts, tables, and asv's results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cputrain.record import files
from cputrain.results.exchange import asv_cells, asv_files, checked, peaks
from cputrain.results.exchange.bundle import PEAKS, Refused, path_in_project
from cputrain.results.exchange.checked import Checked


def new(root: Path, its: Checked, refused: list[str]) -> Iterator[tuple[str, bytes]]:
    """Files that are to lie here, by path relative to the project's root.

    What lies here stays. asv's results of a commit get the benchmarks and cells that they lack, and
    peaks the better rates.

    Args:
        root: of the project that takes them.
        its: what comes, under the name that it gets here.
        refused: gets a line for what is not taken, though it differs.
    """
    plain = {name: checked.table_text(rows) for name, rows in its.tables.items()}
    plain |= {name: asv_files.encode(known) for name, known in its.facts.items()}
    for name, content in plain.items():
        path = path_in_project(its.machine, name)
        if not _is_there(root / path):
            yield path, content
    path = path_in_project(its.machine, PEAKS)
    try:
        better = None if its.peaks is None else _with_peaks(root / path, its.peaks)
    except Refused as error:
        refused.append(f"{path}: {error}")
    else:
        if better is not None:
            yield path, better
    for name, results in its.asv.items():
        path = path_in_project(its.machine, name)
        if not _is_there(root / path):
            yield path, asv_files.encode(results)
        elif (more := _with_more(root / path, its.machine, results)) is not None:
            yield path, asv_files.encode(more)


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _with_peaks(path: Path, other: bytes) -> bytes | None:
    """The better of what lies here and the other one; None where that lies here.

    Raises:
        Refused: they are of two releases of torch, or what lies here is damaged.
    """
    if not _is_there(path):
        return other
    try:
        here = files.read_bytes(path)
        peaks.check(here)
    except (OSError, files.RecordError, Refused) as error:
        reason = f"what lies here under this name cannot be read ({error}); it stays"
        raise Refused(reason) from error
    return peaks.joined(here, other)


def _with_more(path: Path, machine: str, other: dict[str, Any]) -> dict[str, Any] | None:
    """What lies here with what the other one has more; None where it has all, or is damaged.

    The records have the numbers; this is asv's copy of them.
    """
    try:
        here = asv_files.results(path.name, files.read_bytes(path), machine)
    except (OSError, files.RecordError, Refused):
        return None
    columns = here["result_columns"]
    if columns != other["result_columns"]:
        return None
    more = {}
    for benchmark, row in other["results"].items():
        known = here["results"].get(benchmark)
        if (new := row if known is None else asv_cells.filled(columns, known, row)) is not None:
            more[benchmark] = new
    return {**here, "results": here["results"] | more} if more else None
