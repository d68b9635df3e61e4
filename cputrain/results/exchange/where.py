"""Under which name a machine's results are taken in: its own, or one with a suffix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cputrain import paths
from cputrain.machine import identity, registry
from cputrain.machine.reading import MachineError
from cputrain.record import files
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.results import stored
from cputrain.results.exchange.bundle import PEAKS, TABLES, Refused
from cputrain.results.exchange.checked import Checked, workers

TELLING = ("cpu", "cores")
"""Facts without which nothing tells whether two machines are one."""


def check_name(name: str) -> None:
    """Raises Refused for what is no name of a machine."""
    try:
        registry.check_name(name)
    except MachineError as error:
        raise Refused(str(error)) from error


def name_for(root: Path, checked: Checked) -> tuple[str, str | None]:
    """The name under which results are taken in, and why it is another one than theirs.

    It is theirs where nothing here has it, or what has it is the same machine: no fact of CPU and
    size differs, or, where facts do not tell, they have a worker in common. Kernel, microcode and
    firmware are no such facts (`identity.EXACT`). Others get -2, -3 and so on, the same one when
    they come again.

    Args:
        root: of the project that takes them.
        checked: what comes.

    Raises:
        MachineError: asv's list of machines is damaged.
    """
    why = None
    for name in _candidates(checked.machine):
        if not _is_here(root, name):
            return name, why
        different = _different(root, name, checked)
        if different is None:
            return name, why
        why = why or different
    raise AssertionError("names do not end")


def _candidates(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        ending = f"-{number}"
        yield f"{name[: registry.LONGEST - len(ending)]}{ending}"
        number += 1


def _is_here(root: Path, name: str) -> bool:
    """Whether anything here is called so: results, records, an entry of asv's list."""
    asv = [paths.asv_results(mode).name for mode in paths.MODES]
    places = [root / "output" / name, *(root / "result" / folder / name for folder in asv)]
    places += [root / "result" / name / file for file in (PEAKS, *TABLES)]
    return any(map(os.path.lexists, places)) or bool(_facts(root, name))


def _facts(root: Path, name: str) -> list[dict[str, Any]]:
    """What is known here of a machine of that name: of results, of asv's list, of this machine."""
    entries = registry.read_registry(Path.home() / ".asv-machine.json")
    known = registry.known_facts(name, entries, root / "result")
    if name in (identity.machine_name(), identity.plain_name()):
        known.append(dict(identity.present()))
    return known


def _different(root: Path, name: str, checked: Checked) -> str | None:
    """What tells the machine that is called so here from the one that comes; None for the same."""
    theirs = checked.known
    known = [facts for facts in _facts(root, name) if _tells(facts)]
    if known and _tells(theirs):
        words = [phrase for facts in known for phrase in identity.differences(facts, theirs)]
        return f"{name} here has {', '.join(dict.fromkeys(words))}" if words else None
    if _ran_here(root, name) & _ran(checked):
        return None
    return f"nothing tells that {name} here is the same machine: facts of CPU and cores are missing"


def _tells(facts: dict[str, Any]) -> bool:
    return all(facts.get(name) for name in TELLING)


def _ran(checked: Checked) -> set[tuple[str, str]]:
    return {(w.session, w.id) for its in checked.records.values() for w in workers(its)}


def _ran_here(root: Path, name: str) -> set[tuple[str, str]]:
    ran: set[tuple[str, str]] = set()
    for mode in paths.MODES:
        for place in stored.find(root, name, "run.json", mode):
            try:
                record = place.read(CellRecord, SCHEMA)
            except (OSError, files.RecordError):
                continue  # whoever reads the results says so
            ran |= {(worker.session, worker.id) for worker in record.workers}
    return ran
