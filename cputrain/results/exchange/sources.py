"""What is given to `merge`: a file of `pack`, or a folder of a project with its machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cputrain.errors import UsageError
from cputrain.results import records
from cputrain.results.exchange import bundle, packfile
from cputrain.results.exchange.bundle import Bundle, Refused


def bundles(source: Path) -> Iterator[tuple[str, Bundle | str]]:
    """Each machine's name, "" for a file, with what it has, or why that cannot be used.

    An error in reading is the source's, and keeps no other one out. One machine after the other: a
    thousand have gigabytes.
    """
    try:
        project = bundle.project(source) if source.is_dir() else None
        machines = [""] if project is None else records.machines(project)[0]
    except (UsageError, OSError) as error:
        yield "", _reason(source, error)
        return
    for machine in machines:
        its: Bundle | str
        try:
            its = bundle.gather(project, machine) if project else packfile.read(source)
        except (Refused, OSError) as error:
            its = _reason(source, error)
        yield machine, its


def _reason(source: Path, error: Exception) -> str:
    """Why it cannot be used; what cannot be read is named by its path in the source."""
    if not isinstance(error, OSError):
        return str(error)
    path, reason = Path(str(error.filename or source)), error.strerror or str(error)
    if path == source:
        return reason
    return f"{path.relative_to(source) if path.is_relative_to(source) else path}: {reason}"
