"""A machine's results, member by member checked: typed records, facts, peaks, asv's files, tables.

What is no whole member is refused with a line, and the others are taken.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from cputrain.engines import recorded
from cputrain.record import altered as alteration
from cputrain.record import files
from cputrain.record import parts as part_records
from cputrain.record.altered import Altered
from cputrain.record.cell import SCHEMA, CellRecord
from cputrain.record.parts import PartsRecord
from cputrain.record.worker import WorkerRecord
from cputrain.results import engines, tables
from cputrain.results.columns import Row
from cputrain.results.exchange import asv_files, peaks
from cputrain.results.exchange.bundle import (
    ASV_FACTS,
    PEAKS,
    RECORDS,
    TABLES,
    Bundle,
    Refused,
    check_name,
    path_in_project,
)

Record = CellRecord | PartsRecord | Altered
Kind = type[CellRecord] | type[PartsRecord] | type[Altered]
KINDS: dict[str, tuple[Kind, int]] = {
    "run.json": (CellRecord, SCHEMA),
    "references.json": (CellRecord, SCHEMA),
    part_records.FILE: (PartsRecord, part_records.SCHEMA),
    alteration.FILE: (Altered, alteration.SCHEMA),
}
"""What records are, by the name of their file, with its schema."""
LONGEST = 20_000
"""Letters of a text in a record."""
DEEPEST = 32
"""Lists and dictionaries in each other: how many an interpreter can read differs by its version."""
TOO_DEEP = "nested too deeply for a record"
FIRST_YEAR, LAST_YEAR = 2020, 2100


@dataclass
class Checked:
    """What of a bundle can be used.

    Attributes:
        machine: its name, as the bundle says it; not checked.
        records: by path relative to output/<machine>.
        facts: asv's, by member.
        asv: asv's results, by member.
        peaks: machine.json, as it is.
        tables: rows of engines side by side, by member.
        refused: "path: why", of each that cannot be used.
    """

    machine: str
    records: dict[str, Record] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    asv: dict[str, dict[str, Any]] = field(default_factory=dict)
    peaks: bytes | None = None
    tables: dict[str, list[Row]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    @property
    def known(self) -> dict[str, Any]:
        """Facts of the machine, of full runs first; empty without any."""
        return next((self.facts[name] for name in ASV_FACTS if name in self.facts), {})

    def called(self, machine: str) -> Checked:
        """The same under another name of the machine."""
        if machine == self.machine:
            return self
        return Checked(
            machine,
            {place: _renamed(record, machine) for place, record in self.records.items()},
            {name: asv_files.renamed(its, machine) for name, its in self.facts.items()},
            {name: asv_files.renamed(its, machine) for name, its in self.asv.items()},
            self.peaks,
            {name: [r | {"machine": machine} for r in rows] for name, rows in self.tables.items()},
            self.refused,
        )


def check(bundle: Bundle) -> Checked:
    """What of a bundle can be used, and why not of what cannot."""
    checked, machine = Checked(bundle.machine), bundle.machine
    checked.refused += [str(problem).split("; ")[0] for problem in bundle.problems]
    for name, text in sorted(bundle.members.items()):
        try:
            check_name(name)
            if name.startswith(RECORDS):
                place = name.removeprefix(RECORDS)
                checked.records[place] = record(place, text, machine)
            elif name in ASV_FACTS:
                checked.facts[name] = asv_files.facts(text, machine)
            elif name in TABLES:
                checked.tables[name] = _table(text, machine)
            elif name == PEAKS:
                peaks.check(text)
                checked.peaks = text
            else:
                checked.asv[name] = asv_files.results(name.partition("/")[2], text, machine)
        except Refused as error:
            checked.refused.append(f"{path_in_project(machine, name)}: {error}")
    return checked


def record(place: str, text: bytes, machine: str) -> Record:
    """A record, all of it checked.

    Args:
        place: its path relative to output/<machine>.
        text: its JSON.
        machine: whose it is to be.

    Raises:
        Refused: it is none, or not of the suite, cell or machine that it is named after.
    """
    *_, suite, cell, name = place.split("/")
    kind, schema = KINDS[name]
    try:
        its: Record = files.decode(text, kind, schema)
        recorded.require_readable(workers(its))
        _check_values(msgspec.json.decode(text))
    except files.RecordError as error:
        raise Refused(str(error).split("; delete")[0].split(": delete")[0]) from error
    except RecursionError as error:
        raise Refused(TOO_DEEP) from error
    named = {"machine": ({its.machine} if isinstance(its, Altered) else _machines(its), machine)}
    if isinstance(its, CellRecord):
        named["suite"] = ({its.key.suite}, suite)
        if name == "run.json":
            named["cell"] = ({its.key.name}, cell)
    for what, (inside, outside) in named.items():
        if inside - {outside}:
            raise Refused(f"it is of another {what} than its name says")
    started = [w.started for w in workers(its)]
    for time in [*started, its.started] if isinstance(its, Altered) else started:
        _check_time(time)
    return its


def workers(its: Record) -> list[WorkerRecord]:
    """The workers of a record."""
    if isinstance(its, CellRecord):
        return list(its.workers)
    return [its.worker] if isinstance(its, PartsRecord) else []


def _machines(its: CellRecord | PartsRecord) -> set[str]:
    return {worker.machine for worker in workers(its)}


def _renamed(its: Record, machine: str) -> Record:
    if isinstance(its, CellRecord):
        return msgspec.structs.replace(its, workers=[w.but(machine=machine) for w in its.workers])
    if isinstance(its, PartsRecord):
        return msgspec.structs.replace(its, worker=its.worker.but(machine=machine))
    return msgspec.structs.replace(its, machine=machine)


def _check_time(text: str) -> None:
    try:
        time = datetime.datetime.fromisoformat(text)
        if time.tzinfo is None or not FIRST_YEAR <= time.year <= LAST_YEAR:
            raise ValueError
    except ValueError as error:
        raise Refused(f"it started at {text!r:.60}, which is no time of a run") from error


def _check_values(value: Any, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise Refused(TOO_DEEP)
    if isinstance(value, str) and len(value) > LONGEST:
        raise Refused(f"a text in it has {len(value)} letters, and {LONGEST} are the most")
    if isinstance(value, dict | list):
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_values(item, depth + 1)


def _table(text: bytes, machine: str) -> list[Row]:
    rows = engines.read_text(text, Path(TABLES[0]))
    if not isinstance(rows, list):
        raise Refused(rows.reason.split(";")[0])
    if {row["machine"] for row in rows} != {machine}:
        raise Refused("a table of another machine")
    return rows


def table_text(rows: Iterable[Row]) -> bytes:
    """A table of engines side by side as CSV."""
    return tables.as_csv(tables.frame(list(rows), engines.SCHEMA))
