"""What comes beside a machine's records: its peaks, its facts, tables, and asv's results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from cputrain.record import files
from cputrain.results.exchange import asv_files, checked
from cputrain.results.exchange.bundle import PEAKS, Refused
from cputrain.results.exchange.checked import Checked


def new(root: Path, its: Checked, refused: list[str]) -> Iterator[tuple[str, bytes]]:
    """Files that are to lie here, by path relative to the project's root.

    What lies here stays. asv's results of a commit get the benchmarks that they lack.

    Args:
        root: of the project that takes them.
        its: what comes, under the name that it gets here.
        refused: gets a line for what is not taken, though it differs.
    """
    own = f"result/{its.machine}"
    plain: dict[str, bytes] = {} if its.peaks is None else {f"{own}/{PEAKS}": its.peaks}
    plain |= {f"{own}/{name}": checked.table_text(rows) for name, rows in its.tables.items()}
    plain |= {_place(its, name): asv_files.encode(known) for name, known in its.facts.items()}
    for path, content in plain.items():
        if not _is_there(root / path):
            yield path, content
        elif path == f"{own}/{PEAKS}" and _differs(root / path, content):
            refused.append(f"{PEAKS}: peaks are known here too; those here stay")
    for name, results in its.asv.items():
        path = _place(its, name)
        if not _is_there(root / path):
            yield path, asv_files.encode(results)
        elif (more := _with_more(root / path, its.machine, results)) is not None:
            yield path, asv_files.encode(more)


def _place(its: Checked, name: str) -> str:
    folder, _, file = name.partition("/")
    return f"result/{folder}/{its.machine}/{file}"


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _differs(path: Path, content: bytes) -> bool:
    try:
        return bool(msgspec.json.decode(path.read_bytes()) != msgspec.json.decode(content))
    except (OSError, msgspec.MsgspecError):
        return True


def _with_more(path: Path, machine: str, other: dict[str, Any]) -> dict[str, Any] | None:
    """What lies here with the other one's benchmarks; None where it has them, or is damaged.

    The records have the numbers; this is asv's copy of them.
    """
    try:
        here = asv_files.results(path.name, files.read_bytes(path), machine)
    except (OSError, files.RecordError, Refused):
        return None
    same = here["result_columns"] == other["result_columns"]
    lacking = {k: v for k, v in other["results"].items() if k not in here["results"]}
    return {**here, "results": {**here["results"], **lacking}} if same and lacking else None
